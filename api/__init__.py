"""Everything that faces outward: the GraphQL API over HTTP, and the ``whence`` command."""

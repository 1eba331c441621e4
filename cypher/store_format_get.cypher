// store_format_get: the form in which a store is written, version 0 where that was never recorded.
//
// kind:    read
// params:  none
// returns: schema_version: int, journal_version: int, written_by: str or null, populated: bool
// bounds:  one node, and the projects up to the first that has events
OPTIONAL MATCH (f:StoreFormat)
WHERE f.name = 'whence'
RETURN coalesce(f.schema_version, 0) AS schema_version, coalesce(f.journal_version, 0) AS journal_version,
  f.written_by AS written_by, EXISTS {
    MATCH (p:Project)
    WHERE p.seq >= 1
  } AS populated

// store_format_put: record the form in which a store is written from now on; a newer one that is recorded stays.
//
// kind:    write
// params:  schema_version: int, journal_version: int, written_by: str
// returns: schema_version: int
// bounds:  one node
MERGE (f:StoreFormat {name: 'whence'})
WITH f
WHERE coalesce(f.schema_version, 0) <= $schema_version AND coalesce(f.journal_version, 0) <= $journal_version
SET f.schema_version = $schema_version, f.journal_version = $journal_version, f.written_by = $written_by
RETURN f.schema_version AS schema_version

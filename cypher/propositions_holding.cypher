// propositions_holding: for which of several texts a live node of a project holds all its words.
//
// kind:    read
// params:  project: str, texts: list[str]
// returns: at: int
// bounds:  one row a text, and 100 of the index's hits for each
//
// Each of $texts is what graph.words.needed makes, scope included; at is its place among them. Where a hundred hits
// are all retired or another project's, one that lives may be behind them: then the row is there too.
UNWIND range(0, size($texts) - 1) AS at
CALL (at) {
  CALL db.index.fulltext.queryNodes('knowledge_texts', $texts[at], {limit: 100})
  YIELD node AS n
  RETURN count(n) AS found, count(CASE WHEN n.project = $project AND NOT n:Retired THEN 1 END) AS live
}
WITH at, found, live
WHERE live > 0 OR found = 100
RETURN at
ORDER BY at

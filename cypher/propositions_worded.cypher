// propositions_worded: live nodes of a project whose propositions hold words, for several texts at once.
//
// kind:    read
// params:  project: str, texts: list[str], first: int
// returns: at: int, key: str, generation: int, proposition: str
// bounds:  $first of the index's hits for each of $texts
//
// Each of $texts is what graph.words.worded makes, scope included; at is its place among them.
UNWIND range(0, size($texts) - 1) AS at
CALL db.index.fulltext.queryNodes('knowledge_texts', $texts[at], {limit: $first})
YIELD node AS n
WHERE n.project = $project AND NOT n:Retired
RETURN at, n.key AS key, n.generation AS generation, n.proposition AS proposition

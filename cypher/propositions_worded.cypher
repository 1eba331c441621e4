// propositions_worded: live nodes of a project whose propositions hold words, for several texts at once.
//
// kind:    read
// params:  project: str, texts: list[str], first: int
// returns: places: list[int], key: str, generation: int, proposition: str
// bounds:  $first of the index's hits for each of $texts
//
// Each of $texts is what graph.words.worded makes, scope included; places are those of a node's among them: what is
// said together is about the same, and its nodes are sent once.
UNWIND range(0, size($texts) - 1) AS at
CALL db.index.fulltext.queryNodes('knowledge_texts', $texts[at], {limit: $first})
YIELD node AS n
WHERE n.project = $project AND NOT n:Retired
WITH n, collect(at) AS places
RETURN places, n.key AS key, n.generation AS generation, n.proposition AS proposition

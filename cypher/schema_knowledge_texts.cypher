// schema_knowledge_texts: the words of propositions, descriptions and keys, English ones by stems, with the scope.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE FULLTEXT INDEX knowledge_texts IF NOT EXISTS
FOR (n:Knowledge) ON EACH [n.proposition, n.description, n.key, n.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}

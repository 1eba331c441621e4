// schema_knowledge_words: the words of propositions and keys, English ones by their stems, with the project's scope.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE FULLTEXT INDEX knowledge_words IF NOT EXISTS
FOR (n:Knowledge) ON EACH [n.proposition, n.key, n.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}

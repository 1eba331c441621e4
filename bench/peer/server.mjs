// The peer: @neo4j/graphql under Apollo Server, over the labels and properties that Whence keeps.
//
// In its favour: no dates, which it can't format without APOC; risk as the stored number instead of the label; edges
// taken as live without a look at `until`; the walk as one statement that answers with one flat map.
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { Neo4jGraphQL } from "@neo4j/graphql";
import neo4j from "neo4j-driver";

const { NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD, NEO4J_DATABASE, PORT, POOL } = process.env;

const typeDefs = `#graphql
  type Knowledge @node {
    project: String!
    key: String!
    generation: Int!
    proposition: String!
    kind: String!
    state: String!
    uses: Int!
    riskSeq: Int @alias(property: "risk_seq")
    evidence: [Evidence!]! @relationship(type: "EVIDENCED_BY", direction: OUT)
    dependsOn: [Knowledge!]! @relationship(type: "DEPENDS_ON", direction: OUT)
    derivedFrom: [Knowledge!]! @relationship(type: "DERIVED_FROM", direction: OUT)
  }

  type Evidence @node {
    key: String!
    type: String!
    source: String!
    hash: String
  }

  type Walk {
    nodes: [WalkNode!]!
    edges: [WalkEdge!]!
  }

  type WalkNode {
    key: String!
    proposition: String!
    kind: String!
    state: String!
    atRisk: Boolean!
    evidence: [WalkEvidence!]!
  }

  type WalkEvidence {
    key: String!
    type: String!
    source: String!
    hash: String
  }

  type WalkEdge {
    from: String!
    relation: String!
    to: String!
  }

  type Query {
    walk(project: String!, key: String!): Walk @cypher(columnName: "walk", statement: """
      MATCH (root:Knowledge {project: $project, key: $key, generation: 1})
      MATCH (root)-[:DEPENDS_ON|DERIVED_FROM*0..6]->(n)
      WITH root, collect(DISTINCT n) AS kept
      RETURN {
        nodes: [n IN kept WHERE n <> root | {
          key: n.key, proposition: n.proposition, kind: n.kind, state: n.state, atRisk: n:AtRisk,
          evidence: [(n)-[:EVIDENCED_BY]->(e) | {key: e.key, type: e.type, source: e.source, hash: e.hash}]
        }],
        edges: COLLECT {
          UNWIND kept AS a
          MATCH (a)-[r:DEPENDS_ON|DERIVED_FROM]->(b)
          WHERE b IN kept
          RETURN {from: a.key, relation: type(r), to: b.key}
        }
      } AS walk
    """)
  }
`;

const driver = neo4j.driver(NEO4J_URI, neo4j.auth.basic(NEO4J_USERNAME, NEO4J_PASSWORD), {
  maxConnectionPoolSize: Number(POOL ?? 16),
});
const schema = await new Neo4jGraphQL({ typeDefs, driver }).getSchema();
const { url } = await startStandaloneServer(new ApolloServer({ schema, introspection: false }), {
  context: async () => ({ sessionConfig: { database: NEO4J_DATABASE } }),
  listen: { host: "127.0.0.1", port: Number(PORT) },
});
console.log(`ready ${url}`);

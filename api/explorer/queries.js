// Every question that the page asks, as constant texts: the service knows a text again and answers it faster.

const NODE = "id key generation proposition kind state atRisk stale forgotten";
const EVENT = `eventId seq transition time recordedAt reason stateAfter hash actor { issuer subject type }
  execution { run frame task } causedBy { seq transition knowledge { key } }`;

export const PROJECTS = "query Projects { projects }";

export const HOME = `query Home($project: String!) {
  head: journalHead(project: $project) { seq hash }
  atRisk: knowledgeList(project: $project, filter: { atRisk: true }, first: 51) { edges { node { ${NODE} } } }
  disputed: knowledgeList(project: $project, filter: { states: [CHALLENGED] }, first: 51) { edges { node { ${NODE} } } }
  proposed: knowledgeList(project: $project, filter: { states: [PROPOSED] }, first: 51) { edges { node { ${NODE} } } }
}`;

export const JOURNAL = `query Journal($project: String!, $afterSeq: Int, $first: Int) {
  head: journalHead(project: $project) { seq hash }
  journal(project: $project, afterSeq: $afterSeq, first: $first) {
    edges { node { ${EVENT} knowledge { ${NODE} } } }
  }
}`;

/** How many answers a search shows. */
export const FOUND = 50;

export const SEARCH = `query Search(
  $project: String!, $text: String!, $filter: KnowledgeFilter, $asOf: DateTime, $includeRetired: Boolean
) {
  search(project: $project, text: $text, first: ${FOUND}, filter: $filter, asOf: $asOf, includeRetired: $includeRetired) {
    knowledge { ${NODE} } tier cautions via
  }
}`;

export const LIST = `query List($project: String!, $filter: KnowledgeFilter, $after: String) {
  knowledgeList(project: $project, filter: $filter, first: 50, after: $after) {
    edges { node { ${NODE} } } pageInfo { hasNextPage endCursor }
  }
}`;

export const ITEM = `query Item($project: String!, $key: String!, $generation: Int, $asOf: DateTime) {
  knowledge(project: $project, key: $key, generation: $generation, asOf: $asOf) {
    ${NODE} validFrom validTo updatedAt verifiedAt uses
    lineage { sources { type id } method confidence createdAt }
    concept { name description type body occurrences confidence sources }
    evidence { key type source timestamp hash artifactRef metadata }
    relations { relation since until from { ${NODE} } to { ${NODE} } }
  }
}`;

export const HISTORY = `query History(
  $project: String!, $key: String!, $generation: Int, $asOf: DateTime, $after: String
) {
  knowledge(project: $project, key: $key, generation: $generation, asOf: $asOf) {
    ${NODE}
    events(first: 100, after: $after) { edges { node { ${EVENT} } } pageInfo { hasNextPage endCursor } }
  }
}`;

export const WHY = `query Why($project: String!, $key: String!) {
  whyAtRisk(project: $project, key: $key) {
    retired { ${NODE} } event { seq transition time reason actor { issuer subject type } } path { ${NODE} }
  }
}`;

export const IMPACT = `query Impact($project: String!, $key: String!, $after: String) {
  impact(project: $project, key: $key) {
    count nodes(first: 200, after: $after) { edges { node { ${NODE} } } pageInfo { hasNextPage endCursor } }
  }
}`;

export const IMPACT_COUNT =
  "query ImpactCount($project: String!, $key: String!) { impact(project: $project, key: $key) { count } }";

const ASKED =
  "project: $project, key: $key, direction: $direction, relations: $relations, depth: $depth, maxNodes: $maxNodes";

// One way a question: what has no directives is answered by a plan.
export const WALK = `query Walk(
  $project: String!, $key: String!, $direction: Direction!, $relations: [Relation!], $depth: Int, $maxNodes: Int,
  $asOf: DateTime
) {
  provenance(${ASKED}, asOf: $asOf) {
    root { ${NODE} } nodes { ${NODE} } edges { relation since until from { id } to { id } } truncated
  }
}`;

export const NEIGHBOURS = `query Neighbours($project: String!, $key: String!, $generation: Int, $asOf: DateTime) {
  knowledge(project: $project, key: $key, generation: $generation, asOf: $asOf) {
    id relations { relation since until from { ${NODE} } to { ${NODE} } }
  }
}`;

export const CHANGES = `query Changes(
  $project: String!, $key: String!, $direction: Direction!, $relations: [Relation!], $depth: Int, $maxNodes: Int
) {
  provenance(${ASKED}) {
    root { key events(first: 25) { edges { node { seq transition recordedAt } } } }
    nodes { key events(first: 25) { edges { node { seq transition recordedAt } } } }
  }
}`;

export const CONTEXT = `query Context(
  $project: String!, $goal: String!, $budget: Int, $format: ContextFormat, $asOf: DateTime, $validAt: DateTime,
  $includeRetired: Boolean
) {
  context(project: $project, goal: $goal, budget: $budget, format: $format, asOf: $asOf, validAt: $validAt,
    includeRetired: $includeRetired) {
    text tokens budget omitted tokenizer embedder atSeq
    authorization { allowed actor { issuer subject type } project rule }
    items { knowledge { ${NODE} } score tier tokens cautions via }
    omissions { key reason }
  }
}`;

export const DISPUTES = `query Disputes($project: String!, $after: String) {
  knowledgeList(project: $project, filter: { states: [CHALLENGED] }, first: 20, after: $after) {
    edges { node {
      ${NODE} validFrom
      relations(direction: DOWNSTREAM, types: [CONTRADICTS]) { since from { ${NODE} } }
      events(first: 100) { edges { node { transition time reason actor { issuer subject type } } } }
    } }
    pageInfo { hasNextPage endCursor }
  }
}`;

const SAID = "applied newlyAtRisk redacted { kind count } knowledge { key generation state } event { seq }";

export const ACTS = {
  confirm: `mutation Confirm($project: String!, $key: String!, $evidence: [EvidenceInput!], $event: EventInput) {
    done: confirm(project: $project, key: $key, evidence: $evidence, event: $event) { ${SAID} }
  }`,
  challenge: `mutation Challenge($project: String!, $key: String!, $evidence: [EvidenceInput!], $event: EventInput) {
    done: challenge(project: $project, key: $key, evidence: $evidence, event: $event) { ${SAID} }
  }`,
  correct: `mutation Correct(
    $project: String!, $key: String!, $proposition: String!, $evidence: [EvidenceInput!], $event: EventInput
  ) {
    done: correct(project: $project, key: $key, proposition: $proposition, evidence: $evidence, event: $event) { ${SAID} }
  }`,
  supersede: `mutation Supersede($project: String!, $key: String!, $by: String!, $event: EventInput) {
    done: supersede(project: $project, key: $key, by: $by, event: $event) { ${SAID} }
  }`,
  invalidate: `mutation Invalidate($project: String!, $key: String!, $evidence: [EvidenceInput!], $event: EventInput) {
    done: invalidate(project: $project, key: $key, evidence: $evidence, event: $event) { ${SAID} }
  }`,
};

export const STANDING = `query Standing($project: String!) {
  context(project: $project, goal: "-", budget: 1) { authorization { rule } }
}`;

export const HEAD = "query Head($project: String!) { journalHead(project: $project) { seq } }";

export const EVENTS = `subscription Events($project: String!, $afterSeq: Int) {
  events(project: $project, afterSeq: $afterSeq) { seq }
}`;

// A subgraph of nodes and edges, each once, put together from several answers.

/** Nodes by id and edges by what they join; `root` is the id of the node that was asked about. */
export class Subgraph {
  constructor(root = null) {
    this.root = root;
    this.nodes = new Map();
    this.edges = new Map();
  }

  addNode(node) {
    if (!this.nodes.has(node.id)) this.nodes.set(node.id, node);
  }

  addEdge({ from, relation, to, since, until }) {
    this.edges.set(JSON.stringify([from.id, relation, to.id]), { from: from.id, relation, to: to.id, since, until });
  }

  /** Takes in what another one holds. */
  add(other) {
    for (const node of other.nodes.values()) this.addNode(node);
    for (const [id, edge] of other.edges) this.edges.set(id, edge);
  }

  /** This one with only the edges of some relations, and the nodes that these still reach from the root or `kept`. */
  within(relations, kept = new Set()) {
    const made = new Subgraph(this.root);
    const allowed = [...this.edges].filter(([, edge]) => relations.length === 0 || relations.includes(edge.relation));
    const reached = new Set([this.root, ...kept]);
    let before = -1;
    while (before !== reached.size) {
      before = reached.size;
      for (const [, { from, to }] of allowed) {
        if (reached.has(from) || reached.has(to)) reached.add(from).add(to);
      }
    }
    for (const [id, node] of this.nodes) if (reached.has(id)) made.nodes.set(id, node);
    for (const [id, edge] of allowed)
      if (made.nodes.has(edge.from) && made.nodes.has(edge.to)) made.edges.set(id, edge);
    return made;
  }
}

/** The subgraph of walks from the same root. */
export function ofWalks(walks) {
  const graph = new Subgraph(walks[0]?.root.id ?? null);
  for (const { root, nodes, edges } of walks) {
    graph.addNode(root);
    nodes.forEach((node) => graph.addNode(node));
    edges.forEach((edge) => graph.addEdge(edge));
  }
  return graph;
}

/** The subgraph of a node's own relations. */
export function ofNeighbours(node) {
  const graph = new Subgraph();
  for (const edge of node?.relations ?? []) {
    graph.addNode(edge.from);
    graph.addNode(edge.to);
    graph.addEdge(edge);
  }
  return graph;
}

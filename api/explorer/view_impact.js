// What retiring an item would put at risk; nothing is changed by asking.

import { ask } from "./api.js";
import { changed } from "./address.js";
import { el } from "./elements.js";
import { ofWalks } from "./graph_data.js";
import { Figure } from "./graph_figure.js";
import { itemHead, noItem } from "./item_frame.js";
import { card, empty, nextPage } from "./parts.js";
import { IMPACT, ITEM, WALK } from "./queries.js";
import { counted, retired } from "./words.js";

const CARRYING = ["DEPENDS_ON", "DERIVED_FROM"];

export async function impact(route, signal) {
  const { project, key, after } = route;
  const { knowledge: node } = await ask(ITEM, { project, key }, signal);
  if (!node) return noItem({ ...route, asOf: null });
  const walk = { project, key, relations: CARRYING, depth: 100, maxNodes: 200, direction: "DOWNSTREAM" };
  const [{ impact: found }, walked] = await Promise.all([
    ask(IMPACT, { project, key, after }, signal),
    ask(WALK, walk, signal),
  ]);
  const title = `Impact of ${node.key}`;
  const does = retired(node) ? "put" : "would put";
  if (found.count === 0) {
    return {
      title,
      content: [itemHead(node, route), empty(`Retiring it ${does} nothing at risk: nothing live rests on it.`)],
    };
  }
  const nodes = found.nodes.edges.map((edge) => edge.node);
  const graph = ofWalks([walked.provenance]);
  const figure = new Figure({ caption: title });
  return {
    title,
    wide: true,
    content: [
      itemHead(node, route),
      el("p", { class: "lead" }, `Retiring it ${does} `, el("strong", {}, counted(found.count, "item")), " at risk."),
      figure.element,
      el(
        "section",
        { class: "stack tight", "aria-label": "What would be at risk" },
        el("h2", {}, retired(node) ? "What it put at risk" : "What would be at risk"),
        el(
          "ul",
          { class: "cards grid" },
          nodes.map((each) => card(each)),
        ),
      ),
      found.nodes.pageInfo.hasNextPage && nextPage(changed({ after: found.nodes.pageInfo.endCursor })),
    ],
    placed: () => figure.begin(graph, graph, marks(graph, nodes)),
    close: () => figure.close(),
  };
}

function marks(graph, nodes) {
  const marked = new Set([graph.root, ...nodes.map(({ id }) => id)]);
  for (const [id, { from, to }] of graph.edges) if (marked.has(from) && marked.has(to)) marked.add(id);
  return marked;
}

// Why an item is at risk: each retirement with a shortest chain to it, in words and in a picture.

import { ask } from "./api.js";
import { el } from "./elements.js";
import { ofWalks } from "./graph_data.js";
import { Figure } from "./graph_figure.js";
import { itemHead, noItem } from "./item_frame.js";
import { badge, empty, mention } from "./parts.js";
import { ITEM, WALK, WHY } from "./queries.js";
import { actor, counted, said, time, transition } from "./words.js";

const CARRYING = ["DEPENDS_ON", "DERIVED_FROM"];

export async function risk(route, signal) {
  const { project, key } = route;
  const { knowledge: node } = await ask(ITEM, { project, key }, signal);
  if (!node) return noItem({ ...route, asOf: null });
  const title = `Why ${node.key} is at risk`;
  if (!node.atRisk) {
    return {
      title,
      content: [
        itemHead(node, route),
        empty("It is not at risk: nothing that it rests on was retired without being answered since."),
      ],
    };
  }
  const walk = { project, key, relations: CARRYING, depth: 100, maxNodes: 200, direction: "UPSTREAM" };
  const [{ whyAtRisk: risks }, walked] = await Promise.all([
    ask(WHY, { project, key }, signal),
    ask(WALK, walk, signal),
  ]);
  const graph = ofWalks([walked.provenance]);
  const figure = new Figure({ caption: title });
  return {
    title,
    wide: true,
    content: [
      itemHead(node, route),
      el(
        "p",
        { class: "lead" },
        `${counted(risks.length, "retirement puts", "retirements put")} it at risk. Confirm it with evidence, or link it to something that holds, and the risk is gone.`,
      ),
      el("div", { class: "beside" }, el("ol", { class: "chains stack tight" }, risks.map(chain)), figure.element),
    ],
    placed: () => figure.begin(graph, graph, marks(graph, risks)),
    close: () => figure.close(),
  };
}

function chain({ retired, event, path }) {
  return el(
    "li",
    { class: "panel chain stack tight" },
    el(
      "p",
      {},
      mention(retired, { generation: retired.generation }),
      " was ",
      transition(event.transition).toLowerCase(),
      " on ",
      time(event.time),
      " by ",
      actor(event.actor),
      event.reason && [": ", said(event.reason)],
    ),
    el(
      "ol",
      { class: "steps", "aria-label": "The chain, from the item to what was retired" },
      path.map((node, at) =>
        el(
          "li",
          { class: at === path.length - 1 ? "last" : null },
          mention(node, { generation: node.generation > 1 || at === path.length - 1 ? node.generation : null }),
          el("span", { class: "says" }, said(node.proposition)),
          at === path.length - 1 && badge("Retired", "retired"),
        ),
      ),
    ),
  );
}

/** The nodes and the edges of all chains. */
function marks(graph, risks) {
  const marked = new Set();
  for (const { path } of risks) {
    path.forEach((node, at) => {
      graph.addNode(node);
      marked.add(node.id);
      const next = path[at + 1];
      if (!next) return;
      for (const [id, edge] of graph.edges) if (edge.from === node.id && edge.to === next.id) marked.add(id);
    });
  }
  return marked;
}

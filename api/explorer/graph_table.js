// The same graph as a table: every node with its state, how far it is, what it is linked to, and what can be done.

import { toItem } from "./address.js";
import { el } from "./elements.js";
import { badges, keyOf, link } from "./parts.js";
import { RELATIONS, STATES, counted, plain, said } from "./words.js";

/** The table; `chosen` is the id of the chosen node, `choose` and `expand` take an id. */
export function graphTable(graph, { caption, chosen, choose, expand, expanded, marked }) {
  const rows = [...graph.nodes.values()];
  return el(
    "div",
    { class: "table-frame", role: "region", "aria-label": "The graph as a table", tabindex: "0" },
    el(
      "table",
      {},
      el(
        "caption",
        {},
        caption,
        " ",
        el("span", { class: "faint" }, `${counted(rows.length, "item")}, ${counted(graph.edges.size, "relation")}`),
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Item", "State", "Relations", "Show"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((node) =>
          el(
            "tr",
            { "aria-current": node.id === chosen && "true", class: marked?.has(node.id) ? "marked" : null },
            el(
              "th",
              { scope: "row" },
              link(toItem(node, "node", generationOf(node)), {}, keyOf(node)),
              el("div", {}, said(node.proposition)),
            ),
            el("td", {}, el("div", { class: "row" }, badges(node))),
            el(
              "td",
              {},
              el(
                "ul",
                {},
                edgesOf(graph, node).map(([name, other]) => el("li", {}, name, " ", said(other.key, { class: "key" }))),
              ),
            ),
            el(
              "td",
              {},
              el(
                "div",
                { class: "row" },
                el(
                  "button",
                  { type: "button", onclick: () => choose(node.id), "aria-label": `Choose ${plain(node.key)}` },
                  "Choose",
                ),
                expand &&
                  el(
                    "button",
                    {
                      type: "button",
                      "data-expand": node.id,
                      "aria-pressed": String(expanded(node)),
                      onclick: () => expand(node),
                      "aria-label": `${expanded(node) ? "Fold" : "Expand"} ${plain(node.key)}`,
                    },
                    expanded(node) ? "Fold" : "Expand",
                  ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** The relations of a node within the graph, in words, with the other end. */
export function edgesOf(graph, node) {
  const found = [];
  for (const { from, relation, to } of graph.edges.values()) {
    if (from === node.id) found.push([RELATIONS[relation].away.toLowerCase(), graph.nodes.get(to)]);
    else if (to === node.id) found.push([RELATIONS[relation].towards.toLowerCase(), graph.nodes.get(from)]);
  }
  return found;
}

/** The generation to link to: retired ones are not what their key names now. */
export function generationOf(node) {
  return STATES[node.state].look === "retired" ? { generation: node.generation } : {};
}

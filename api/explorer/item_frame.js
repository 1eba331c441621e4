// What all views of one item share: its name, its state, and the way to the other views.

import { changed, elsewhere } from "./address.js";
import { el } from "./elements.js";
import { badges, empty, heading, keyOf, link } from "./parts.js";
import { said } from "./words.js";

const TABS = [
  ["node", "Item"],
  ["graph", "Graph"],
  ["risk", "Why at risk"],
  ["impact", "Impact"],
  ["history", "History"],
];

/** The head of an item's view. */
export function itemHead(node, route, ...more) {
  return el(
    "header",
    { class: "item-head stack tight" },
    el("div", { class: "row" }, keyOf(node), badges(node), ...more),
    heading(said(node.proposition)),
    itemTabs(node, route),
  );
}

function itemTabs(node, route) {
  const { project, key, asOf } = route;
  const generation = route.generation ?? null;
  return el(
    "nav",
    { class: "tabs", "aria-label": "Views of the item" },
    TABS.map(([view, name]) =>
      link(
        { project, view, key, asOf, generation: view === "node" || view === "history" ? generation : null },
        { "aria-current": route.view === view && "page" },
        name,
      ),
    ),
  );
}

/** What is shown where there is no such item. */
export function noItem(route) {
  const then = route.asOf && link(changed({ asOf: null }), {}, "Look at it now");
  return {
    title: "No such item",
    content: [
      heading("No such item"),
      empty(
        "There is no item ",
        said(route.key, { class: "key" }),
        route.asOf ? " at that moment. " : " in this project. ",
        then,
        then && " or ",
        link(elsewhere("search", { q: route.key }), {}, then ? "search for it" : "Search for it"),
        ".",
      ),
    ],
  };
}

/** A generation as a number, or null for the newest. */
export function generationOf(route) {
  const number = Number(route.generation);
  return Number.isInteger(number) && number > 0 ? number : null;
}

// What happened to an item, event by event.

import { ask } from "./api.js";
import { changed, elsewhere } from "./address.js";
import { el } from "./elements.js";
import { generationOf, itemHead, noItem } from "./item_frame.js";
import { badge, eventEntry, link, nextPage, panel } from "./parts.js";
import { HISTORY } from "./queries.js";
import { STATES, said, time } from "./words.js";

const SAME_MS = 2_000; // what is recorded as it happens needs no second time

export async function history(route, signal) {
  const { project, key, asOf, after } = route;
  const generation = generationOf(route);
  const { knowledge: node } = await ask(HISTORY, { project, key, generation, asOf, after }, signal);
  if (!node) return noItem(route);
  const { edges, pageInfo } = node.events;
  return {
    title: `History of ${node.key}`,
    content: [
      itemHead(node, route),
      panel(
        "What happened to it",
        el("p", { class: "faint" }, "Oldest first. Times are when it happened."),
        el(
          "ol",
          { class: "events" },
          edges.map(({ node: event }) => eventEntry(event, { more: details(event, node, project) })),
        ),
      ),
      node.generation > 1 &&
        el("p", {}, link(elsewhere("history", { key, generation: node.generation - 1 }), {}, "The generation before")),
      pageInfo.hasNextPage && nextPage(changed({ after: pageInfo.endCursor })),
    ],
  };
}

function details(event, node, project) {
  const { execution } = event;
  const ran =
    execution &&
    Object.entries(execution)
      .filter(([, value]) => value)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
  return [
    event.stateAfter && badge(STATES[event.stateAfter].name, STATES[event.stateAfter].look, "the state after it"),
    el("span", {}, `position ${event.seq}`),
    Math.abs(Date.parse(event.recordedAt) - Date.parse(event.time)) > SAME_MS &&
      el("span", {}, "recorded ", time(event.recordedAt)),
    el("span", { title: event.hash }, "hash ", el("span", { class: "key" }, event.hash.slice(0, 12)), "…"),
    ran && said(ran),
    event.causedBy.length > 0 &&
      el("span", {}, "because of position ", event.causedBy.map(({ seq }) => seq).join(", ")),
    link({ project, view: "graph", key: node.key, asOf: event.recordedAt }, {}, "Graph at that moment"),
  ];
}

// What answers a text, or a list of what the filters let through.

import { ask } from "./api.js";
import { changed, go } from "./address.js";
import { el } from "./elements.js";
import { badge, card, empty, heading, nextPage } from "./parts.js";
import { FOUND, LIST, SEARCH } from "./queries.js";
import { STATES, counted, said } from "./words.js";

export async function search(route, signal) {
  const { content, title } = await answered(route, signal);
  return {
    title,
    content: [
      el(
        "div",
        { class: "browse" },
        filters(route),
        el("section", { class: "stack", "aria-label": "Results" }, content),
      ),
    ],
  };
}

/** How many answer, where the service gives no more than so many. */
function ranked(count) {
  if (!count) return null;
  return count < FOUND ? `${counted(count, "item")}, the best first.` : `The ${FOUND} best, the best first.`;
}

async function answered(route, signal) {
  const { project, asOf } = route;
  const filter = filterOf(route);
  if (route.q) {
    const variables = { project, text: route.q, filter, asOf, includeRetired: Boolean(route.retired) };
    const { search: items } = await ask(SEARCH, variables, signal);
    return {
      title: `Search: ${route.q}`,
      content: [
        heading("Results for ", said(route.q)),
        el("p", { class: "soft" }, ranked(items.length)),
        items.length
          ? el(
              "ol",
              { class: "cards" },
              items.map((each) =>
                card(each.knowledge, { generation: generationOf(each.knowledge), more: notes(each) }),
              ),
            )
          : empty(
              "Nothing answers that. Fewer filters or other words may; retired items come only where they are asked for.",
            ),
      ],
    };
  }
  const { knowledgeList } = await ask(LIST, { project, filter, after: route.after }, signal);
  const nodes = knowledgeList.edges.map((edge) => edge.node);
  return {
    title: "Browse",
    content: [
      heading(route.after ? "Items, further on" : "Items"),
      route.asOf && el("p", { class: "note" }, "Lists show the present. Search for words to see what was known then."),
      nodes.length
        ? el(
            "ol",
            { class: "cards" },
            nodes.map((node) => card(node, { generation: generationOf(node) })),
          )
        : empty("No item is like that."),
      knowledgeList.pageInfo.hasNextPage && nextPage(changed({ after: knowledgeList.pageInfo.endCursor })),
    ],
  };
}

function generationOf(node) {
  return STATES[node.state].look === "retired" ? node.generation : null;
}

function notes({ cautions, via, tier }) {
  const told = cautions.filter((caution) => caution !== "unconfirmed" && !caution.startsWith("stale"));
  return [
    via && badge(["through ", said(via)], "plain", "it came in by this link"),
    tier === "SEMANTIC" && badge("By meaning", "plain"),
    told.map((caution) => el("span", { class: "faint" }, said(caution))),
  ];
}

function filterOf(route) {
  return {
    ...(route.state?.length && { states: route.state }),
    ...(route.kind?.length && { kinds: route.kind }),
    ...(route.atRisk && { atRisk: true }),
    ...(route.stale && { stale: true }),
    ...(route.prefix && { keyPrefix: route.prefix }),
  };
}

function filters(route) {
  const form = el(
    "form",
    { class: "panel stack filters", "aria-label": "Filters", onchange: apply, onsubmit: apply },
    el(
      "div",
      { class: "field" },
      el("label", { for: "q" }, "Words"),
      el("input", { id: "q", name: "q", type: "search", value: route.q ?? "", maxlength: 10000 }),
    ),
    el(
      "fieldset",
      {},
      el("legend", {}, "State"),
      Object.entries(STATES).map(([state, { name, look }]) =>
        tick(
          "state",
          state,
          [el("span", { class: `dot ${look}`, "aria-hidden": "true" }), name],
          route.state?.includes(state),
        ),
      ),
    ),
    el(
      "fieldset",
      {},
      el("legend", {}, "Kind"),
      tick("kind", "CLAIM", "Claim", route.kind?.includes("CLAIM")),
      tick("kind", "OBSERVATION", "Observation", route.kind?.includes("OBSERVATION")),
    ),
    el(
      "fieldset",
      {},
      el("legend", {}, "Only what is"),
      tick("atRisk", "1", "At risk", route.atRisk),
      tick("stale", "1", "Stale", route.stale),
    ),
    el(
      "div",
      { class: "field" },
      el("label", { for: "prefix" }, "Key begins with"),
      el("input", { id: "prefix", name: "prefix", value: route.prefix ?? "", maxlength: 200, spellcheck: "false" }),
    ),
    tick("retired", "1", "Search retired items too", route.retired),
    el("p", {}, el("button", { type: "submit" }, "Apply")),
  );
  function apply(event) {
    event.preventDefault();
    const said = new FormData(form);
    const at = document.activeElement?.id;
    go(
      changed({
        q: said.get("q").trim(),
        state: said.getAll("state"),
        kind: said.getAll("kind"),
        atRisk: said.get("atRisk"),
        stale: said.get("stale"),
        retired: said.get("retired"),
        prefix: said.get("prefix"),
        after: null,
      }),
      { keep: at },
    );
  }
  return form;
}

function tick(name, value, label, checked) {
  const id = `${name}-${value}`;
  return el(
    "label",
    { class: "tick", for: id },
    el("input", { type: "checkbox", id, name, value, checked: Boolean(checked) }),
    label,
  );
}

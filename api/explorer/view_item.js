// One item: its state, what to bear in mind, what it stands on, what it is linked to, what can be done about it.

import { actsOf } from "./acts.js";
import { ask } from "./api.js";
import { toItem } from "./address.js";
import { el } from "./elements.js";
import { generationOf, itemHead, noItem } from "./item_frame.js";
import { badge, card, facts, link, mention, panel, source } from "./parts.js";
import { IMPACT_COUNT, ITEM, WHY } from "./queries.js";
import { standing } from "./standing.js";
import { RELATIONS, STATES, counted, retired, said, time } from "./words.js";

export async function item(route, signal) {
  const { project, key, asOf } = route;
  const generation = generationOf(route);
  const now = !asOf && generation === null;
  const [found, impact] = await Promise.all([
    ask(ITEM, { project, key, generation, asOf }, signal),
    now ? ask(IMPACT_COUNT, { project, key }, signal).catch(notThere) : null,
    standing(project, signal),
  ]);
  const node = found.knowledge;
  if (!node) return noItem(route);
  const risks = node.atRisk && now ? (await ask(WHY, { project, key }, signal)).whyAtRisk : [];
  return {
    title: node.key,
    content: [
      itemHead(node, route),
      el(
        "div",
        { class: "columns" },
        el("div", { class: "stack" }, cautions(node, risks), concept(node), evidence(node), relations(node)),
        el(
          "aside",
          { class: "stack", "aria-label": "What to do and what is known" },
          actsOf(node, route),
          measures(node, impact?.impact.count),
          lineage(node),
        ),
      ),
    ],
  };
}

function notThere(error) {
  if (error.code === "NOT_FOUND") return null;
  throw error;
}

function cautions(node, risks) {
  const list = [
    node.state === "PROPOSED" && ["proposed", "Unconfirmed: nobody has said yet that it holds."],
    ...disputes(node),
    retired(node) && ["", [`${STATES[node.state].name}: ${STATES[node.state].means}. `, successors(node)]],
    node.atRisk && ["risk", ["At risk", ...rootsOf(risks), ". ", link(toItem(node, "risk"), {}, "Why")]],
    node.stale && [
      "",
      [
        "Stale: not verified since ",
        time(node.verifiedAt ?? node.validFrom),
        node.verifiedAt ? "." : ", when it was said.",
      ],
    ],
    node.forgotten && ["", "Forgotten: hidden from lists and search."],
  ].filter(Boolean);
  if (list.length === 0) return null;
  return el(
    "section",
    { "aria-labelledby": "cautions", class: "stack tight" },
    el("h2", { id: "cautions" }, "Bear in mind"),
    el(
      "ul",
      { class: "stack tight" },
      list.map(([look, text]) => el("li", { class: `note ${look}` }, text)),
    ),
  );
}

function disputes(node) {
  const against = node.relations.filter(({ relation, to }) => relation === "CONTRADICTS" && to.id === node.id);
  const live = against.filter(({ from }) => !retired(from));
  if (node.state !== "CHALLENGED" && live.length === 0) return [];
  const by = live.flatMap(({ from }, at) => [at ? ", " : " by ", mention(from)]);
  return [["challenged", ["Disputed", ...by, "."]]];
}

function successors(node) {
  const over = node.relations.filter(({ relation, to }) => relation === "SUPERSEDES" && to.id === node.id);
  return over.length ? ["See ", ...over.flatMap(({ from }, at) => [at ? ", " : "", mention(from)]), "."] : null;
}

function rootsOf(risks) {
  return risks
    .slice(0, 5)
    .flatMap(({ retired: root }, at) => [at ? ", " : " of ", mention(root, { generation: root.generation })]);
}

function evidence(node) {
  const list = node.evidence.map((each) =>
    el(
      "li",
      { class: "stack tight" },
      el("div", { class: "row" }, badge(said(each.type), "evidence"), el("span", {}, source(each.source))),
      facts([
        ["Observed", time(each.timestamp)],
        ["Key", said(each.key, { class: "key" })],
        ["Hash", each.hash && said(each.hash, { class: "key" })],
        ["Kept at", each.artifactRef && source(each.artifactRef)],
        ["More", each.metadata && el("pre", { class: "json" }, said(JSON.stringify(each.metadata, null, 1)))],
      ]),
    ),
  );
  return panel(
    `Evidence (${node.evidence.length})`,
    list.length
      ? el("ul", { class: "plain-list" }, list)
      : el("p", { class: "soft" }, "Nothing was given that it stands on."),
  );
}

function relations(node) {
  const groups = new Map();
  for (const edge of node.relations) {
    const away = edge.from.id === node.id;
    const name = RELATIONS[edge.relation][away ? "away" : "towards"];
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push({ node: away ? edge.to : edge.from, edge });
  }
  if (groups.size === 0) return panel("Relations", el("p", { class: "soft" }, "It is linked to nothing."));
  return panel(
    "Relations",
    el(
      "div",
      { class: "stack" },
      [...groups].map(([name, list]) =>
        el(
          "section",
          { class: "stack tight" },
          el("h3", {}, `${name} (${list.length})`),
          el(
            "ul",
            { class: "cards" },
            list.map((each) =>
              card(each.node, {
                generation: each.node.generation > 1 || retired(each.node) ? each.node.generation : null,
                more: el("span", { class: "faint" }, "since ", time(each.edge.since)),
              }),
            ),
          ),
        ),
      ),
    ),
  );
}

function concept(node) {
  if (!node.concept) return null;
  const { type, body, occurrences, confidence, sources, description } = node.concept;
  return panel(
    "Concept",
    el(
      "div",
      { class: "stack tight" },
      el("p", { class: "soft" }, said(description)),
      el("div", { class: "concept" }, said(body)),
      facts([
        ["Type", said(type)],
        ["Said", counted(occurrences, "time")],
        ["Confidence", confidence.toFixed(2)],
        ["Sources", sources.length > 0 && said(sources.join(", "))],
      ]),
    ),
  );
}

function measures(node, impact) {
  return panel(
    "Facts",
    facts([
      ["Holds from", time(node.validFrom)],
      ["Until", node.validTo ? time(node.validTo) : "now"],
      ["Verified", node.verifiedAt ? time(node.verifiedAt) : "never"],
      ["Changed", time(node.updatedAt)],
      ["Used", counted(node.uses, "time")],
      ["Kind", node.kind === "CLAIM" ? "Claim" : "Observation"],
      ["Rests on it", impact === undefined ? null : link(toItem(node, "impact"), {}, counted(impact, "item"))],
    ]),
  );
}

function lineage(node) {
  if (!node.lineage) return null;
  const { sources, method, confidence, createdAt } = node.lineage;
  return panel(
    "How it was made",
    facts([
      ["Method", method && said(method)],
      ["Made", time(createdAt)],
      ["Confidence", confidence === null ? null : String(confidence)],
      [
        "From",
        sources.length > 0 &&
          el(
            "ul",
            {},
            sources.map(({ type, id }) => el("li", {}, said(type), " ", said(id, { class: "key" }))),
          ),
      ],
    ]),
  );
}

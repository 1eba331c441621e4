// Parts that many views are made of.

import { address, toItem } from "./address.js";
import { el } from "./elements.js";
import { STATES, actor, counted, plain, said, time, transition, lookOf } from "./words.js";

/** A link to a route. */
export function link(route, attributes, ...children) {
  return el("a", { href: address(route), ...attributes }, ...children);
}

export function badge(text, look = "plain", title = null) {
  return el("span", { class: `badge ${look}`, title }, text);
}

/** State, risk and age of a node, as words with a colour. */
export function badges(node) {
  const state = STATES[node.state];
  return [
    badge(state.name, state.look, state.means),
    node.atRisk && badge("At risk", "risk", "something that it rests on was retired"),
    node.stale && badge("Stale", "plain", "not verified within the project's aging time"),
    node.forgotten && badge("Forgotten", "plain", "hidden from lists and search"),
    node.kind === "OBSERVATION" && badge("Observation", "plain"),
  ];
}

/** Key and generation of a node; the first generation goes without saying. */
export function keyOf(node) {
  return el("span", { class: "key" }, said(node.key), node.generation > 1 && ` · generation ${node.generation}`);
}

/** A node in a list; `newest` is false where an earlier generation is meant. */
export function card(node, { more = [], generation = null, as = "li" } = {}) {
  const look = STATES[node.state].look;
  return el(
    as,
    { class: `card ${look}${node.atRisk ? " at-risk" : ""}` },
    keyOf(node),
    link(toItem(node, "node", { generation }), { class: "says" }, said(node.proposition)),
    el("div", { class: "row" }, badges(node), more),
  );
}

/** A node within a sentence. */
export function mention(node, more = {}) {
  return link(
    toItem(node, "node", more),
    { title: plain(node.proposition) },
    el("span", { class: "key" }, said(node.key)),
  );
}

/** What was refused or failed: our code, the field, the position, what is allowed. */
export function problem(error, title = "That was not done") {
  const facts = [
    ["Code", error.code && el("code", {}, error.code)],
    ["Field", error.field && el("code", {}, said(error.field))],
    ["Position", error.position ?? null],
    ["Allowed", error.allowed && said(String(error.allowed))],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el(
    "section",
    { class: "note problem stack tight", role: "alert" },
    el("h2", {}, title),
    el("p", {}, said(error.message)),
    facts.length > 0 &&
      el(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
      ),
  );
}

export function facts(rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "");
  return el(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

export function panel(title, ...children) {
  return el("section", { class: "panel" }, el("h2", {}, title), ...children);
}

export function empty(...children) {
  return el("p", { class: "empty" }, ...children);
}

/** The heading of a view; it takes the focus when the view comes. */
export function heading(...children) {
  return el("h1", { tabindex: "-1" }, ...children);
}

/** One event as an entry of a list. */
export function eventEntry(event, { about = null, more = [] } = {}) {
  return el(
    "li",
    { class: "event" },
    el("span", { class: `dot ${lookOf(event)}`, "aria-hidden": "true" }),
    el(
      "div",
      { class: "stack tight" },
      el(
        "div",
        { class: "row" },
        el("strong", {}, transition(event.transition)),
        about,
        el("span", { class: "faint" }, time(event.time)),
      ),
      event.reason && el("p", {}, said(event.reason)),
      el("div", { class: "row faint" }, el("span", {}, "by ", actor(event.actor)), more),
    ),
  );
}

/** How many, where a list was asked for one more than is shown. */
export function upTo(list, shown) {
  return list.length > shown ? `${shown}+` : String(list.length);
}

/** What stands where more is to be had. */
export function nextPage(route) {
  return el("p", {}, link(route, { class: "button", rel: "next" }, "Next page"));
}

/** Only web addresses become links; anything else stays text. */
export function source(text) {
  const web = /^https?:\/\//iu.test(text) && URL.canParse(text);
  return web ? el("a", { href: text, rel: "noopener noreferrer external", target: "_blank" }, said(text)) : said(text);
}

/** Redactions in words. */
export function redactions(list) {
  return list.map(({ kind, count }) => counted(count, kind, kind)).join(", ");
}

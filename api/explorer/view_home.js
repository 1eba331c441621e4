// A project at a glance: what is at risk, what is disputed, what waits for a word, what happened last.

import { ask } from "./api.js";
import { elsewhere } from "./address.js";
import { el } from "./elements.js";
import { card, empty, eventEntry, heading, link, mention, upTo } from "./parts.js";
import { HOME, JOURNAL } from "./queries.js";
import { counted, plain, said } from "./words.js";

const SHOWN = 6;
const COUNTED = 50;
const RECENT = 12;

/** The choice of a project. */
export function chooser(projects) {
  const list = projects.map((project) =>
    el("li", {}, link({ project, view: "home" }, { class: "panel project" }, said(project))),
  );
  return {
    title: "Projects",
    content: [
      heading("Projects"),
      el("p", { class: "soft lead" }, "What is known, where it came from, what rests on it, and what to doubt."),
      list.length
        ? el("ul", { class: "projects" }, list)
        : empty(
            "No project holds anything yet, or none that you may see. ",
            el("code", {}, "whence up --demo"),
            " brings one to look at.",
          ),
    ],
  };
}

export async function home(route, signal) {
  const { project } = route;
  const found = await ask(HOME, { project }, signal);
  const seq = found.head?.seq ?? 0;
  const recent = seq
    ? await ask(JOURNAL, { project, afterSeq: Math.max(0, seq - RECENT), first: RECENT }, signal)
    : null;
  const nodes = (list) => list.edges.map((edge) => edge.node);
  return {
    title: "Overview",
    content: [
      el(
        "header",
        { class: "stack tight" },
        heading(said(project)),
        el("p", { class: "soft" }, seq ? `${counted(seq, "event")} in its journal.` : "Nothing is known here yet."),
      ),
      seq > 0 &&
        el(
          "div",
          { class: "glance" },
          group(
            "At risk",
            "risk",
            nodes(found.atRisk),
            elsewhere("search", { atRisk: 1 }),
            "Nothing rests on what was retired.",
          ),
          group("Disputed", "challenged", nodes(found.disputed), elsewhere("disputes"), "Nobody contradicts anything."),
          group(
            "Unconfirmed",
            "proposed",
            nodes(found.proposed),
            elsewhere("search", { state: ["PROPOSED"] }),
            "Everything was confirmed or retired.",
          ),
        ),
      recent &&
        el(
          "section",
          { class: "panel" },
          el(
            "div",
            { class: "row apart" },
            el("h2", {}, "What happened last"),
            link(elsewhere("journal"), {}, "Journal"),
          ),
          el(
            "ol",
            { class: "events" },
            recent.journal.edges
              .map(({ node }) => node)
              .reverse()
              .map((event) => eventEntry(event, { about: event.knowledge && mention(event.knowledge) })),
          ),
        ),
    ],
  };
}

function group(name, look, nodes, all, none) {
  return el(
    "section",
    { class: "panel stack tight" },
    el(
      "div",
      { class: "row apart" },
      el("h2", {}, name),
      el("span", { class: `count ${nodes.length ? look : ""}` }, upTo(nodes, COUNTED)),
    ),
    nodes.length
      ? el(
          "ul",
          { class: "cards" },
          nodes.slice(0, SHOWN).map((node) => card(node)),
        )
      : el("p", { class: "faint" }, none),
    nodes.length > 0 && el("p", {}, link(all, { "aria-label": plain(`All: ${name}`) }, "All of them")),
  );
}

// The journal of the project, the newest first.

import { ask } from "./api.js";
import { changed, elsewhere } from "./address.js";
import { el } from "./elements.js";
import { empty, eventEntry, heading, link, mention } from "./parts.js";
import { JOURNAL } from "./queries.js";
import { counted, said } from "./words.js";

const PAGE = 50;

export async function journal(route, signal) {
  const { project } = route;
  const before = Number.isInteger(Number(route.before)) && Number(route.before) > 0 ? Number(route.before) : null;
  const from = before === null ? await newest(project, signal) : before - 1;
  const afterSeq = Math.max(0, from - PAGE);
  const found = await ask(JOURNAL, { project, afterSeq, first: Math.min(PAGE, Math.max(1, from - afterSeq)) }, signal);
  const events = found.journal.edges
    .map(({ node }) => node)
    .filter(({ seq }) => seq <= from)
    .reverse();
  return {
    title: "Journal",
    content: [
      el(
        "header",
        { class: "stack tight" },
        heading("Journal"),
        el(
          "p",
          { class: "soft" },
          found.head
            ? [
                `${counted(found.head.seq, "event")}; the newest has the hash `,
                said(found.head.hash.slice(0, 16), { class: "key" }),
                "…",
              ]
            : "Nothing has happened here.",
        ),
      ),
      events.length
        ? el(
            "section",
            { class: "panel", "aria-label": "Events" },
            el(
              "ol",
              { class: "events" },
              events.map((event) =>
                eventEntry(event, {
                  about: event.knowledge && mention(event.knowledge, { generation: event.knowledge.generation }),
                  more: [
                    el("span", {}, `position ${event.seq}`),
                    link(elsewhere("home", { view: "search", asOf: event.recordedAt }), {}, "What was known then"),
                  ],
                }),
              ),
            ),
          )
        : empty("There are no events before this."),
      el(
        "p",
        { class: "row" },
        before !== null && link(changed({ before: null }), { class: "button" }, "Newest"),
        afterSeq > 0 && link(changed({ before: afterSeq + 1 }), { class: "button" }, "Older"),
      ),
    ],
  };
}

async function newest(project, signal) {
  const found = await ask(JOURNAL, { project, afterSeq: 0, first: 1 }, signal);
  return found.head?.seq ?? 0;
}

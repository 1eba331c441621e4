// How facts are said: times, counts, states, relations, and texts of which nobody knows what is in them.

import { el } from "./elements.js";

// What turns the direction of a line or cannot be seen: a key could look like another one with these.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;
const UNSEEN_ALL = new RegExp(UNSEEN.source, "gu");
const JOINER = "\u200d"; // holds an emoji together, and is shown where it stands between letters

function codePoint(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function keeps(text, at) {
  return text[at] === JOINER && /\p{Extended_Pictographic}/u.test(String.fromCodePoint(text.codePointAt(at + 1) ?? 32));
}

/** A text of the project, set apart from what is around it; what cannot be seen is shown. */
export function said(text, attributes = {}) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(UNSEEN_ALL)) {
    if (keeps(text, found.index)) continue;
    parts.push(text.slice(from, found.index), el("span", { class: "control" }, codePoint(found[0])));
    from = found.index + found[0].length;
  }
  return el("bdi", attributes, ...parts, text.slice(from));
}

/** The same as bare text, for titles, names of controls and the picture. */
export function plain(text) {
  return text.replace(UNSEEN_ALL, (character, at) => (keeps(text, at) ? character : `[${codePoint(character)}]`));
}

/** The beginning of a text, whole characters of it. */
export function beginning(text, length) {
  const parts = Array.from(text);
  return parts.length > length
    ? `${parts
        .slice(0, length - 1)
        .join("")
        .trimEnd()}…`
    : text;
}

export const STATES = {
  PROPOSED: { name: "Proposed", look: "proposed", means: "said, and not yet confirmed" },
  CONFIRMED: { name: "Confirmed", look: "confirmed", means: "somebody says that it holds" },
  CHALLENGED: { name: "Challenged", look: "challenged", means: "somebody says that it may not hold" },
  CORRECTED: { name: "Corrected", look: "retired", means: "retired: the next generation says it better" },
  SUPERSEDED: { name: "Superseded", look: "retired", means: "retired: another item took its place" },
  INVALIDATED: { name: "Invalidated", look: "retired", means: "retired: it does not hold" },
};

/** Both ways of saying each relation: of what an item leads to, and of what leads to it. */
export const RELATIONS = {
  DEPENDS_ON: { name: "depends on", away: "Depends on", towards: "Depends on this", carries: true },
  DERIVED_FROM: { name: "derived from", away: "Derived from", towards: "Derived from this", carries: true },
  SUPPORTS: { name: "supports", away: "Supports", towards: "Supported by", carries: false },
  CONTRADICTS: { name: "contradicts", away: "Contradicts", towards: "Contradicted by", carries: false },
  SUPERSEDES: { name: "supersedes", away: "Took the place of", towards: "Its place was taken by", carries: false },
  RELATED_TO: { name: "related to", away: "Related to", towards: "Related from", carries: false },
};

export function retired(node) {
  return STATES[node.state].look === "retired";
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZone: "UTC",
});

/** An instant in UTC; midnight as the day alone. */
export function instant(text) {
  const at = new Date(text);
  return at.getTime() % 86_400_000 === 0 ? DAY.format(at) : `${DAY.format(at)}, ${CLOCK.format(at)} UTC`;
}

/** An instant as an element that machines can read. */
export function time(text) {
  return text ? el("time", { datetime: text, title: text }, instant(text)) : "–";
}

const COUNT = new Intl.NumberFormat("en");

export function counted(number, one, many = `${one}s`) {
  return `${COUNT.format(number)} ${number === 1 ? one : many}`;
}

/** Who acted: the subject, and where that comes from. */
export function actor(who) {
  return el(
    "span",
    {},
    said(who.subject),
    el("span", { class: "faint" }, " of ", said(who.issuer), ` (${who.type.toLowerCase()})`),
  );
}

/** Words for a transition of the journal. */
export function transition(name) {
  return name.charAt(0) + name.slice(1).toLowerCase();
}

/** How an event looks: as the state that it leads to, else as any event. */
export function lookOf(event) {
  const states = {
    PROPOSED: "proposed",
    CONFIRMED: "confirmed",
    CHALLENGED: "challenged",
    CORRECTED: "retired",
    SUPERSEDED: "retired",
    INVALIDATED: "retired",
    DISPROVED: "retired",
  };
  return states[event.transition] ?? "event";
}

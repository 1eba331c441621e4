// What others do meanwhile: open views say that something has changed since one looked, and show it when they are told to.

import { ask, follow } from "./api.js";
import { el, refill } from "./elements.js";
import { EVENTS, HEAD } from "./queries.js";
import { tell } from "./status.js";
import { counted } from "./words.js";

const QUIET_MS = 500; // events come in bursts
const AGAIN_MS = 3_000;

const place = document.getElementById("changes");
let project = null;
let seen = null; // the position that the view shows, or a later one; null before it is known
let newest = 0;
let following = new AbortController();
let timer = 0;

/** Follows a project from what its views show now; null follows nothing. */
export function followProject(name) {
  if (name !== project) {
    following.abort();
    project = name;
    seen = null;
    newest = 0;
    if (name !== null && !document.hidden) run(name);
  }
  shown();
}

/** Takes what there is as seen: a view has just been made. */
async function shown() {
  place.hidden = true;
  if (project === null) return;
  try {
    const { journalHead } = await ask(HEAD, { project });
    seen = Math.max(seen ?? 0, journalHead?.seq ?? 0);
    say();
  } catch {
    // the view itself tells what is wrong
  }
}

async function run(name) {
  following = new AbortController();
  const { signal } = following;
  try {
    const { journalHead } = await ask(HEAD, { project: name }, signal);
    newest = Math.max(newest, journalHead?.seq ?? 0);
    say();
    let afterSeq = newest;
    const told = ({ events }) => {
      afterSeq = newest = events.seq;
      clearTimeout(timer);
      timer = setTimeout(say, QUIET_MS);
    };
    while (await follow(EVENTS, { project: name, afterSeq }, signal, told)) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      if (signal.aborted) return;
    }
  } catch {
    if (!signal.aborted) setTimeout(() => !signal.aborted && run(name), AGAIN_MS);
  }
}

function say() {
  const count = seen === null ? 0 : newest - seen;
  place.hidden = count <= 0;
  if (count <= 0) return;
  const text = `${counted(count, "change")} since you looked.`;
  refill(
    place,
    el("span", {}, text),
    el(
      "button",
      { type: "button", class: "quiet", onclick: () => dispatchEvent(new CustomEvent("whence:changed")) },
      "Show",
    ),
  );
  tell(text);
}

// A page that nobody sees holds no connection: browsers have few for one place.
document.addEventListener("visibilitychange", () => {
  following.abort();
  if (!document.hidden && project !== null) run(project);
});

// From the address to a view: which one, with what title, where the focus goes, and what is said when it is there.

import { address, go, here } from "./address.js";
import { Problem, ask } from "./api.js";
import { openAct } from "./acts.js";
import { refill } from "./elements.js";
import { frame, showFrame } from "./frame.js";
import { followProject } from "./live.js";
import { heading, problem } from "./parts.js";
import { PROJECTS } from "./queries.js";
import { keep, takeFromAddress } from "./session.js";
import { signIn } from "./sign_in.js";
import { busy, tell } from "./status.js";
import { plain } from "./words.js";
import { context } from "./view_context.js";
import { disputes } from "./view_disputes.js";
import { graph } from "./view_graph.js";
import { history as itemHistory } from "./view_history.js";
import { chooser, home } from "./view_home.js";
import { impact } from "./view_impact.js";
import { item } from "./view_item.js";
import { journal } from "./view_journal.js";
import { risk } from "./view_risk.js";
import { search } from "./view_search.js";

const VIEWS = { home, search, node: item, graph, risk, impact, history: itemHistory, context, disputes, journal };
const OF_AN_ITEM = new Set(["node", "graph", "risk", "impact", "history"]);

const main = document.getElementById("main");
let shown = null; // the view that stands there: its route, and how it takes another one
let asking = new AbortController();
let projects = null;

async function move({ focus }) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const route = here();
  busy(true);
  try {
    const named = projects ?? ask(PROJECTS, {}, signal).then((found) => found.projects);
    if (!route.project) projects = await named;
    if (projects?.length === 1 && !route.project) {
      go({ ...route, project: projects[0] }, { replace: true });
      return;
    }
    [projects] = await Promise.all([named, place(route, signal, focus)]);
    frame(here(), projects);
    await openAct(route, signal);
    followProject(route.project ?? null);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error instanceof Problem && error.code === "UNAUTHENTICATED") signedOut(error);
    else fail(error);
  }
  if (!signal.aborted) busy(false);
}

async function place(route, signal, focus) {
  frame(route, projects ?? []);
  if (shown !== null && sameBut(shown.route, route, ["act", "on"])) return;
  const known = shown !== null && shown.update && sameView(shown.route, route);
  if (known) {
    await shown.update(route, signal);
    shown.route = route;
    document.title = titled(shown.title, route);
    return;
  }
  const view = await viewOf(route)(route, signal);
  if (signal.aborted) {
    view.close?.();
    return;
  }
  shown?.close?.();
  shown = { ...view, route };
  main.classList.toggle("wide", Boolean(view.wide));
  refill(main, ...view.content);
  document.title = titled(view.title, route);
  tell(plain(view.title));
  if (focus) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  await view.placed?.();
}

function viewOf(route) {
  if (!route.project) return () => chooser(projects);
  if (OF_AN_ITEM.has(route.view) && !route.key) return home;
  return VIEWS[route.view] ?? home;
}

function sameView(one, other) {
  return one.view === other.view && one.project === other.project && one.key === other.key;
}

/** Whether two routes ask for the same but for some names: a dialog stands over the view that is there. */
function sameBut(one, other, names) {
  const left = (route) => address({ ...route, ...Object.fromEntries(names.map((name) => [name, null])) });
  return left(one) === left(other);
}

function titled(title, route) {
  return [plain(title), route.project && plain(route.project), "Whence"].filter(Boolean).join(" · ");
}

function fail(error) {
  shown?.close?.();
  shown = null;
  if (!(error instanceof Problem)) console.error(error);
  main.classList.remove("wide");
  refill(main, heading("This cannot be shown"), problem(error, "What the service said"));
  document.title = "Whence";
  main.querySelector("h1").focus();
}

function signedOut(error) {
  followProject(null);
  shown?.close?.();
  shown = null;
  projects = null;
  keep(null);
  showFrame(false);
  main.classList.remove("wide");
  refill(main, ...signIn(error, () => move({ focus: true })));
  document.title = "Sign in · Whence";
  main.querySelector("input").focus();
}

function followed(event) {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button !== 0 || anchor.target) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const to = new URL(anchor.href);
  if (to.origin !== location.origin || to.pathname !== "/" || to.hash) return;
  event.preventDefault();
  history.pushState(null, "", to.pathname + to.search);
  move({ focus: !("keepFocus" in anchor.dataset) });
}

function start() {
  takeFromAddress();
  document.addEventListener("click", followed);
  addEventListener("popstate", () => location.hash || move({ focus: true }));
  addEventListener("hashchange", () => {
    if (!takeFromAddress()) return;
    projects = null;
    move({ focus: true });
  });
  addEventListener("whence:moved", (event) => move({ focus: !event.detail.replace && event.detail.focus !== false }));
  addEventListener("whence:changed", () => {
    shown?.close?.();
    shown = null;
    move({ focus: false });
  });
  addEventListener("whence:left", () => signedOut(null));
  move({ focus: false });
}

start();

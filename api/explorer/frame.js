// What stands around every view: projects, search, the views, the moment that is looked at, light and dark.

import { address, changed, elsewhere, go, here } from "./address.js";
import { el, icon, ICONS, refill } from "./elements.js";
import { link } from "./parts.js";
import { keep, token } from "./session.js";
import { instant, plain } from "./words.js";

const SECTIONS = [
  ["home", "Overview"],
  ["search", "Browse"],
  ["disputes", "Disputes"],
  ["context", "Context"],
  ["journal", "Journal"],
];
const OF_THE_PAST = new Set(["search", "node", "graph", "history", "context"]);
const THEMES = ["auto", "light", "dark"];

const byId = (id) => document.getElementById(id);

/** Shows or hides the frame. */
export function showFrame(is) {
  for (const id of ["bar", "sections"]) byId(id).hidden = !is;
  if (!is) byId("moment").hidden = true;
}

/** Sets the frame for a route. */
export function frame(route, projects) {
  showFrame(true);
  projectsOf(route, projects);
  byId("find").hidden = !route.project;
  const text = byId("find-text");
  if (document.activeElement !== text) text.value = route.view === "search" ? (route.q ?? "") : "";
  byId("sections").hidden = !route.project;
  refill(byId("sections"), ...(route.project ? SECTIONS.map(([view, name]) => section(route, view, name)) : []));
  moment(route);
  tools();
}

function section(route, view, name) {
  const { project, asOf } = route;
  const here = route.view === view;
  return link({ project, view, asOf }, { "aria-current": here && "page" }, name);
}

function projectsOf(route, projects) {
  const names = route.project && !projects.includes(route.project) ? [...projects, route.project] : projects;
  const choice = byId("project");
  refill(
    choice,
    !route.project && el("option", { value: "" }, "Choose a project"),
    ...names.map((name) => el("option", { value: name, selected: name === route.project }, plain(name))),
  );
  choice.value = route.project ?? "";
  choice.onchange = () => go({ project: choice.value, view: "home" });
}

function moment(route) {
  const place = byId("moment");
  place.hidden = !route.asOf;
  if (!route.asOf) return;
  const known = !Number.isNaN(Date.parse(route.asOf));
  const past = OF_THE_PAST.has(route.view);
  refill(
    place,
    el(
      "span",
      {},
      past ? "You look at what was known on " : "This view shows the present. Chosen for the others is ",
      el("strong", {}, known ? instant(route.asOf) : route.asOf),
      ".",
    ),
    el("a", { href: address(changed({ asOf: null })) }, "Back to now"),
  );
}

function tools() {
  const theme = localTheme();
  refill(
    byId("tools"),
    momentChooser(),
    el(
      "button",
      {
        type: "button",
        class: "quiet square",
        title: `Colours: ${theme}`,
        "aria-label": `Colours: ${theme}. Change them`,
        onclick: () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]),
      },
      icon(ICONS.theme),
    ),
    token() !== null &&
      el(
        "button",
        {
          type: "button",
          class: "quiet square",
          title: "Sign out",
          "aria-label": "Sign out",
          onclick: () => {
            keep(null);
            dispatchEvent(new CustomEvent("whence:left"));
          },
        },
        icon(ICONS.leave),
      ),
  );
}

function momentChooser() {
  const { asOf, project } = here();
  if (!project) return null;
  const value = asOf && !Number.isNaN(Date.parse(asOf)) ? new Date(asOf).toISOString().slice(0, 19) : "";
  const field = el("input", { id: "as-of", type: "datetime-local", step: 1, value });
  return el(
    "details",
    { class: "as-of" },
    el(
      "summary",
      { class: "button quiet", title: "Look at the past" },
      icon(ICONS.clock),
      el("span", { class: "wide-only" }, asOf ? "The past" : "Now"),
    ),
    el(
      "form",
      {
        class: "panel stack tight",
        onsubmit: (event) => {
          event.preventDefault();
          go(changed({ asOf: field.value ? new Date(`${field.value}Z`).toISOString() : null, after: null }));
        },
      },
      el("div", { class: "field" }, el("label", { for: "as-of" }, "As of (UTC)"), field),
      el("p", { class: "hint faint" }, "What was known then: by when the journal took it."),
      el(
        "div",
        { class: "row" },
        el("button", { class: "first", type: "submit" }, "Look"),
        el("button", { type: "button", onclick: () => go(changed({ asOf: null, after: null })) }, "Now"),
      ),
    ),
  );
}

function localTheme() {
  return document.documentElement.dataset.theme ?? "auto";
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("whence.theme", theme);
  } catch {
    // it lasts until the next load
  }
  tools();
  byId("tools").querySelector("button").focus();
  dispatchEvent(new CustomEvent("whence:theme"));
}

function start() {
  try {
    const theme = localStorage.getItem("whence.theme");
    if (THEMES.includes(theme) && theme !== "auto") document.documentElement.dataset.theme = theme;
  } catch {
    // the system's colours stand
  }
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    go(elsewhere("search", { q: byId("find-text").value.trim() }));
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      byId("find-text").focus();
    }
  });
}

start();

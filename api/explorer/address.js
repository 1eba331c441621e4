// The address of a view: everything that it shows is in the query, so that reload, back and a shared link give it again.

const LISTS = new Set(["state", "kind", "relation", "open"]);

/** What the address asks for: texts by name, lists for those that may come several times, null for what is not said. */
export function here() {
  const said = new URLSearchParams(location.search);
  const route = { view: said.get("view") ?? (said.has("key") ? "node" : "home") };
  for (const name of said.keys()) route[name] = LISTS.has(name) ? said.getAll(name) : said.get(name);
  return route;
}

/** The address of a route; what is empty, null or false is left out. */
export function address(route) {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(route)) {
    if (Array.isArray(value)) value.forEach((each) => said.append(name, each));
    else if (name === "view" && value === "home") continue;
    else if (value !== null && value !== undefined && value !== "" && value !== false) said.set(name, String(value));
  }
  const query = said.toString();
  return query ? `/?${query}` : "/";
}

/** A route elsewhere in the same project, at the same moment. */
export function elsewhere(view, more = {}) {
  const { project, asOf } = here();
  return { project, view, ...more, asOf: "asOf" in more ? more.asOf : asOf };
}

/** The route of an item; its generation is said only where it is not the newest. */
export function toItem(node, view = "node", more = {}) {
  return elsewhere(view, { key: node.key, ...more });
}

/** This route with some of it changed. */
export function changed(more) {
  return { ...here(), ...more };
}

/** Goes to a route: a new entry in the history, or in place of this one. */
export function go(route, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address(route));
  dispatchEvent(new CustomEvent("whence:moved", { detail: { replace } }));
}

// The token of this tab: it comes with the address once, or from the form, and goes with the tab.

const NAME = "whence.token";
let kept = null; // where a browser keeps nothing for this page, the token lasts until the next load

/** Takes the token out of the address, so that nobody shares or bookmarks it; whether there was one. */
export function takeFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return false;
  keep(given);
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

/** The token, or null. */
export function token() {
  try {
    return sessionStorage.getItem(NAME) ?? kept;
  } catch {
    return kept;
  }
}

/** Keeps a token for this tab; null forgets it. */
export function keep(value) {
  kept = value;
  try {
    if (value === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, value);
  } catch {
    // the variable has it
  }
}

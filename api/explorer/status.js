// What is told to people who do not look: one polite region for all; and that something is on its way.

const region = document.getElementById("status");
const progress = document.getElementById("progress");
const main = document.getElementById("main");
const PATIENCE_MS = 150; // an answer that is there at once needs no sign

let timer = 0;

/** Says a sentence to screen readers. */
export function tell(text) {
  region.textContent = text;
}

/** Whether a view is on its way. */
export function busy(is) {
  clearTimeout(timer);
  main.setAttribute("aria-busy", String(is));
  if (is) timer = setTimeout(() => (progress.hidden = false), PATIENCE_MS);
  else progress.hidden = true;
}

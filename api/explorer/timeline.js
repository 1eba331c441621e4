// The moments at which something changed in a graph, as a slider with a strip of marks above it.

import { el, icon, ICONS, refill, svg } from "./elements.js";
import { instant, lookOf, plain, transition } from "./words.js";

const QUIET_MS = 140; // the slider has stood still for as long before the past is asked for
const WIDTH = 1000;
const EDGE = 8; // half of the handle, near enough

/** The slider; `moved` is called with an instant, or null for now. */
export class Timeline {
  constructor(moved) {
    this.moved = moved;
    this.stops = [];
    this.timer = 0;
    this.output = el("output", { id: "moment-said", for: "moment-at" }, "Now");
    this.strip = svg("svg", {
      class: "strip",
      viewBox: `0 0 ${WIDTH} 20`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    this.range = el("input", {
      id: "moment-at",
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      "aria-label": "Moment",
      oninput: () => this.slid(),
    });
    const step = (name, path, by) =>
      el(
        "button",
        { type: "button", class: "square quiet", title: name, "aria-label": name, onclick: () => this.step(by) },
        icon(path),
      );
    this.now = el("button", { type: "button", onclick: () => this.to(this.stops.length) }, "Now");
    this.element = el(
      "div",
      { class: "timeline", role: "group", "aria-label": "Time" },
      step("The change before", ICONS.back, -1),
      el("div", { class: "slider" }, this.strip, this.range),
      step("The next change", ICONS.on, 1),
      this.now,
      this.output,
    );
  }

  /** Takes the events of the nodes shown, and the moment that is looked at (null for now). */
  fill(events, asOf) {
    const byMoment = new Map();
    for (const event of [...events].sort((a, b) => a.seq - b.seq)) {
      if (!byMoment.has(event.recordedAt)) byMoment.set(event.recordedAt, []);
      byMoment.get(event.recordedAt).push(event);
    }
    this.stops = [...byMoment].map(([at, list]) => ({ at, list })).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    this.range.max = String(this.stops.length);
    this.marks();
    this.set(asOf);
  }

  /** Stands at a moment: behind the last change that had been recorded then. */
  set(asOf) {
    const when = asOf ? Date.parse(asOf) : Infinity;
    const found = this.stops.filter(({ at }) => Date.parse(at) <= when).length;
    this.index = asOf ? found - 1 : this.stops.length;
    if (document.activeElement !== this.range || Number(this.range.value) !== this.index)
      this.range.value = String(Math.max(0, this.index));
    this.words(asOf);
  }

  words(asOf) {
    const stop = this.stops[this.index];
    const what = stop
      ? `: ${stop.list
          .slice(0, 3)
          .map(({ key, transition: name }) => `${plain(key)} ${transition(name).toLowerCase()}`)
          .join(", ")}${stop.list.length > 3 ? " …" : ""}`
      : "";
    const text = asOf ? `${instant(asOf)}${stop && stop.at === asOf ? what : ""}` : "Now";
    this.output.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
    this.now.disabled = !asOf;
    this.strip.querySelector(".at")?.remove();
    if (stop) this.strip.append(svg("rect", { class: "at", x: this.xOf(this.index) - 2, y: 0, width: 4, height: 20 }));
  }

  slid() {
    const index = Number(this.range.value);
    this.index = index;
    this.words(this.stops[index]?.at ?? null);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.moved(this.stops[index]?.at ?? null), QUIET_MS);
  }

  step(by) {
    this.to(Math.min(this.stops.length, Math.max(0, this.index + by)));
  }

  to(index) {
    this.moved(this.stops[index]?.at ?? null);
  }

  /** Where the slider's handle stands for a stop. */
  xOf(index) {
    return EDGE + (index / this.stops.length) * (WIDTH - 2 * EDGE);
  }

  marks() {
    const width = Math.max(1, Math.min(6, (WIDTH / this.stops.length) * 0.7));
    refill(
      this.strip,
      this.stops.map(({ list }, index) => {
        const height = Math.min(18, 8 + 2 * list.length);
        return svg("rect", {
          class: lookOf(list.at(-1)),
          x: this.xOf(index) - width / 2,
          y: 20 - height,
          width,
          height,
        });
      }),
    );
  }
}

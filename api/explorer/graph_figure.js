// A graph as people use it: the picture with its keys and buttons, the chosen node beside it, and the table below.

import { go, toItem } from "./address.js";
import { el, icon, ICONS, refill } from "./elements.js";
import { edgesOf, generationOf, graphTable } from "./graph_table.js";
import { card, link } from "./parts.js";
import { Picture, library } from "./picture.js";
import { tell } from "./status.js";
import { STATES, counted, plain, said } from "./words.js";

const ZOOM = 1.3;
const LOOKS = [
  ["proposed", "Proposed"],
  ["confirmed", "Confirmed"],
  ["challenged", "Challenged"],
  ["retired", "Retired"],
];
const KEYS = "Arrow keys choose an item, Enter opens it, E expands it, plus and minus zoom, 0 shows all.";

/**
 * A figure.
 * `caption` names it; `expand` and `expanded` are given where nodes can be expanded; `below` stands under the picture.
 */
export class Figure {
  constructor({ caption, expand = null, expanded = () => false, below = null, chosen = null, onchoose = () => {} }) {
    Object.assign(this, { caption, expand, expanded, chosen, onchoose });
    this.box = el("div", { class: "canvas" });
    this.field = el(
      "div",
      {
        class: "picture",
        role: "application",
        tabindex: "0",
        "aria-roledescription": "graph",
        "aria-describedby": "graph-keys",
        onkeydown: (event) => this.key(event),
      },
      this.box,
    );
    this.side = el("aside", { class: "chosen panel", "aria-label": "The chosen item" });
    this.rows = el("div", {});
    this.element = el(
      "div",
      { class: "figure stack" },
      el(
        "div",
        { class: "figure-top" },
        el(
          "div",
          { class: "figure-main" },
          this.field,
          this.buttons(),
          below,
          legend(),
          el("p", { id: "graph-keys", class: "unseen" }, KEYS),
        ),
        this.side,
      ),
      this.rows,
    );
  }

  /** Draws for the first time; the element stands in the page by now. */
  async begin(graph, whole = graph, marked = null) {
    Object.assign(this, { graph, whole, marked });
    this.chosen ??= graph.root;
    const draw = await this.drawing;
    if (this.closed) return;
    if (draw) {
      this.picture = new Picture(draw, this.box, { chosen: (id) => this.choose(id), opened: (id) => this.open(id) });
      this.picture.show(graph, whole, marked);
      this.picture.choose(this.chosen);
    } else
      this.field.replaceWith(
        el(
          "p",
          { class: "note" },
          "The library that draws the graph is not on this machine. The table shows the same.",
        ),
      );
    this.element.dataset.drawn = draw ? "picture" : "table";
    this.words();
  }

  /** Shows another state of it. */
  show(graph, whole = graph, marked = null) {
    Object.assign(this, { graph, whole, marked });
    this.picture?.show(graph, whole, marked);
    this.picture?.choose(this.chosen);
    this.words();
  }

  choose(id) {
    this.chosen = id;
    this.onchoose(this.graph.nodes.get(id));
    this.picture?.choose(id);
    this.words();
    const node = this.graph.nodes.get(id);
    if (node) tell(spoken(node, edgesOf(this.graph, node)));
  }

  words() {
    const { graph, caption, chosen, expand, marked } = this;
    this.field.setAttribute(
      "aria-label",
      `${plain(caption)}: ${counted(graph.nodes.size, "item")}, ${counted(graph.edges.size, "relation")}. The table below shows the same.`,
    );
    const focus = document.activeElement?.getAttribute("aria-label");
    refill(
      this.rows,
      graphTable(graph, {
        caption,
        chosen,
        marked,
        expand,
        expanded: this.expanded,
        choose: (id) => this.choose(id),
      }),
    );
    refill(this.side, ...this.about(graph.nodes.get(chosen)));
    if (focus && !document.activeElement?.closest(".figure")) this.again(focus);
  }

  /** Gives the focus back to the control that was replaced. */
  again(name) {
    const key = name.replace(/^(Fold|Expand|Choose) /u, "");
    for (const button of this.element.querySelectorAll("button")) {
      const own = button.getAttribute("aria-label");
      if (own === name || (/^(Fold|Expand) /u.test(name) && own?.replace(/^(Fold|Expand) /u, "") === key)) {
        button.focus();
        return;
      }
    }
  }

  about(node) {
    if (!node) return [el("p", { class: "faint" }, "Choose an item to see it here.")];
    const links = edgesOf(this.graph, node);
    return [
      card(node, { as: "div", ...generationOf(node) }),
      el(
        "div",
        { class: "row" },
        this.expand &&
          el(
            "button",
            {
              type: "button",
              "data-side": "expand",
              onclick: () => this.expand(node),
              "aria-label": `${this.expanded(node) ? "Fold" : "Expand"} ${plain(node.key)} here`,
            },
            icon(this.expanded(node) ? ICONS.minus : ICONS.plus),
            this.expanded(node) ? "Fold" : "Expand",
          ),
        link(toItem(node, "node", generationOf(node)), { class: "button" }, "Open"),
        node.id !== this.graph.root &&
          STATES[node.state].look !== "retired" &&
          link(toItem(node, "graph"), { class: "button" }, "Centre"),
      ),
      el(
        "ul",
        { class: "links" },
        links.map(([name, other]) =>
          el(
            "li",
            {},
            el("span", { class: "faint" }, name),
            " ",
            el(
              "button",
              {
                type: "button",
                class: "quiet key",
                onclick: () => this.choose(other.id),
                "aria-label": `Choose ${plain(other.key)}, ${name}`,
              },
              said(other.key),
            ),
          ),
        ),
      ),
    ];
  }

  buttons() {
    const one = (name, path, act) =>
      el("button", { type: "button", class: "square", title: name, "aria-label": name, onclick: act }, icon(path));
    return el(
      "div",
      { class: "zoom", role: "group", "aria-label": "The picture" },
      one("Zoom in", ICONS.plus, () => this.picture?.zoom(ZOOM)),
      one("Zoom out", ICONS.minus, () => this.picture?.zoom(1 / ZOOM)),
      one("Show all", ICONS.fit, () => this.picture?.fit()),
    );
  }

  key(event) {
    if (!this.picture || event.ctrlKey || event.metaKey || event.altKey) return;
    const node = this.graph.nodes.get(this.chosen);
    const acts = {
      "+": () => this.picture.zoom(ZOOM),
      "=": () => this.picture.zoom(ZOOM),
      "-": () => this.picture.zoom(1 / ZOOM),
      0: () => this.picture.fit(),
      Enter: () => node && this.open(node.id),
      e: () => node && this.expand?.(node),
    };
    if (event.key.startsWith("Arrow")) this.step(event.key);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }

  step(key) {
    const from = this.graph.nodes.has(this.chosen) ? this.chosen : this.graph.root;
    const next = this.graph.nodes.has(from) ? this.picture.beside(from, key) : this.graph.nodes.keys().next().value;
    if (next) this.choose(next);
  }

  open(id) {
    const node = this.graph.nodes.get(id);
    if (node) go(toItem(node, "node", generationOf(node)));
  }

  close() {
    this.closed = true;
    this.picture?.close();
  }

  drawing = library();
}

function spoken(node, links) {
  const where = links
    .map(([name, other]) => `${name} ${plain(other.key)}`)
    .slice(0, 6)
    .join(", ");
  const risk = node.atRisk ? ", at risk" : "";
  return `${plain(node.key)}, ${STATES[node.state].name.toLowerCase()}${risk}: ${plain(node.proposition)}. ${where}`;
}

function legend() {
  return el(
    "ul",
    { class: "legend", "aria-label": "Colours of the picture" },
    LOOKS.map(([look, name]) => el("li", {}, el("span", { class: `dot ${look}`, "aria-hidden": "true" }), name)),
    el("li", {}, el("span", { class: "ring", "aria-hidden": "true" }), "At risk"),
    el("li", {}, "Arrows point to what an item rests on"),
  );
}

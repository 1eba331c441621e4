// The drawing of a graph, by the library; nobody but this file knows it.

import { CARD, layout } from "./layout.js";
import { RELATIONS, STATES, beginning, plain } from "./words.js";

const NAMES = [
  "proposed",
  "confirmed",
  "challenged",
  "retired",
  "risk",
  "surface",
  "sunken",
  "paper",
  "ink",
  "ink-soft",
  "ink-faint",
  "accent",
  "edge",
  "edge-strong",
  "line-strong",
];
const TEXT = { size: 12.5, left: 16, right: 8, lines: 2 };
const MARGIN = 24;
const FAR = 0.55; // below this zoom only keys can be read
const MOVE_MS = 260;

/** The library, or null where it is not to be had. */
export async function library() {
  const { library: url } = document.documentElement.dataset;
  if (!url) return null;
  try {
    return (await import(url)).default;
  } catch {
    return null;
  }
}

/** A picture in a box; `chosen` is called with a node's id, `opened` when it is meant to be opened. */
export class Picture {
  constructor(draw, box, { chosen, opened }) {
    this.box = box;
    this.places = new Map();
    this.cy = draw({
      container: box,
      minZoom: 0.08,
      maxZoom: 2.2,
      boxSelectionEnabled: false,
      autounselectify: true,
      style: style(),
    });
    this.cy.on("tap", "node", ({ target }) => chosen(target.id()));
    this.cy.on("dbltap", "node", ({ target }) => opened(target.id()));
    this.cy.on("zoom", () => this.far());
    this.restyle = () => this.cy.style(style());
    addEventListener("whence:theme", this.restyle);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.restyle);
    this.size = new ResizeObserver(() => this.cy.resize());
    this.size.observe(box);
  }

  /**
   * Shows a graph, placed by all that it may come to show, so that nothing moves while time goes by.
   * `marked` are ids of nodes and edges to stand out; where there are any, the rest steps back.
   */
  show(graph, whole, marked = null) {
    const first = this.cy.elements().empty();
    const { places, turned } = layout(whole, { width: this.box.clientWidth, height: this.box.clientHeight });
    const moved =
      !first && [...places].some(([id, at]) => this.places.has(id) && distance(this.places.get(id), at) > 1);
    const grown = places.size !== this.places.size;
    this.places = places;
    if (first || grown) this.fit();
    this.cy.batch(() => {
      this.cy
        .elements()
        .filter((each) => !graph.nodes.has(each.id()) && !graph.edges.has(each.id()))
        .remove();
      for (const node of graph.nodes.values()) this.put(node, graph.root);
      for (const [id, edge] of graph.edges) this.join(id, edge);
      this.mark(marked);
      this.cy.edges().forEach((edge) => this.lead(edge, turned));
    });
    if (moved) this.slide();
  }

  put(node, root) {
    const data = { id: node.id, label: label(node), near: beginning(plain(node.key), 18) };
    const classes = [
      STATES[node.state].look,
      node.kind.toLowerCase(),
      node.atRisk && "at-risk",
      node.id === root && "root",
      this.isFar && "far",
    ].filter(Boolean);
    const there = this.cy.getElementById(node.id);
    if (there.nonempty()) there.data(data).classes(classes);
    else this.cy.add({ group: "nodes", data, position: { ...this.places.get(node.id) }, classes });
  }

  join(id, { from, relation, to }) {
    if (this.cy.getElementById(id).nonempty()) return;
    const data = { id, source: from, target: to, label: RELATIONS[relation].name };
    this.cy.add({ group: "edges", data, classes: this.isFar ? [relation, "far"] : [relation] });
  }

  /** Lets an edge to a later column leave and come in at the middles of the facing sides. */
  lead(edge, turned) {
    const [from, to] = [this.places.get(edge.source().id()), this.places.get(edge.target().id())];
    const along = turned ? to.y - from.y - CARD.height : to.x - from.x - CARD.width;
    edge.toggleClass("onwards", along > 0 && !turned).toggleClass("downwards", along > 0 && turned);
  }

  mark(marked) {
    this.cy.elements().removeClass("marked aside");
    if (marked === null) return;
    this.cy.elements().forEach((each) => {
      each.addClass(marked.has(each.id()) ? "marked" : "aside");
    });
  }

  slide() {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.cy.nodes().forEach((node) => {
      const position = { ...this.places.get(node.id()) };
      if (still) node.position(position);
      else node.animate({ position }, { duration: MOVE_MS });
    });
  }

  choose(id) {
    this.cy.nodes().removeClass("chosen");
    const node = this.cy.getElementById(id ?? "");
    if (node.empty()) return;
    node.addClass("chosen");
    const { x1, y1, x2, y2 } = this.cy.extent();
    const { x, y } = node.position();
    if (x < x1 || x > x2 || y < y1 || y > y2) this.cy.center(node);
  }

  /** The node next to one in a direction of the arrow keys, or null. */
  beside(id, key) {
    const from = this.places.get(id);
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let best = null;
    this.cy.nodes().forEach((node) => {
      const at = this.places.get(node.id());
      const along = (at.x - from.x) * dx + (at.y - from.y) * dy;
      const across = Math.abs((at.x - from.x) * dy) + Math.abs((at.y - from.y) * dx);
      const cost = along + 2 * across;
      if (node.id() !== id && along > 1 && (best === null || cost < best.cost)) best = { id: node.id(), cost };
    });
    return best?.id ?? null;
  }

  /** Shows all places; they are known, while the library would first measure every text. */
  fit() {
    const at = [...this.places.values()];
    const [xs, ys] = [at.map(({ x }) => x), at.map(({ y }) => y)];
    const span = (of, size) => [Math.min(...of) - size / 2 - MARGIN, Math.max(...of) + size / 2 + MARGIN];
    const [[left, right], [top, bottom]] = [span(xs, CARD.width), span(ys, CARD.height)];
    const { clientWidth: width, clientHeight: height } = this.box;
    const zoom = Math.min(1.1, width / (right - left), height / (bottom - top));
    this.cy.viewport({
      zoom,
      pan: { x: (width - zoom * (left + right)) / 2, y: (height - zoom * (top + bottom)) / 2 },
    });
    this.far();
  }

  zoom(factor) {
    this.cy.zoom({
      level: this.cy.zoom() * factor,
      renderedPosition: { x: this.box.clientWidth / 2, y: this.box.clientHeight / 2 },
    });
  }

  far() {
    const far = this.cy.zoom() < FAR;
    if (far === this.isFar) return;
    this.isFar = far;
    this.cy.batch(() => this.cy.elements().toggleClass("far", far));
  }

  close() {
    removeEventListener("whence:theme", this.restyle);
    this.dark.removeEventListener("change", this.restyle);
    this.size.disconnect();
    this.cy.destroy();
  }
}

function distance(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y);
}

const ruler = document.createElement("canvas").getContext("2d");

function fontOf() {
  return getComputedStyle(document.body).fontFamily;
}

/** The key, and below it as much of the proposition as there is room for. */
function label(node) {
  ruler.font = `${TEXT.size}px ${fontOf()}`;
  const width = CARD.width - TEXT.left - TEXT.right;
  const key = node.generation > 1 ? `${plain(node.key)} · ${node.generation}` : plain(node.key);
  return [fitting(key, width), ...lines(plain(node.proposition).replace(/\s+/gu, " "), width)].join("\n");
}

function lines(text, width) {
  const made = [""];
  for (const word of text.split(" ")) {
    const longer = made.at(-1) ? `${made.at(-1)} ${word}` : word;
    if (ruler.measureText(longer).width <= width) made[made.length - 1] = longer;
    else if (made.length < TEXT.lines && made.at(-1)) made.push(fitting(word, width));
    else {
      made[made.length - 1] = fitting(longer, width);
      break;
    }
  }
  return made;
}

function fitting(text, width) {
  if (ruler.measureText(text).width <= width) return text;
  const parts = Array.from(text.slice(0, 400));
  while (parts.length > 1 && ruler.measureText(`${parts.join("")}…`).width > width) parts.pop();
  return `${parts.join("").trimEnd()}…`;
}

/** The tokens as colours that the library can read. */
function colours() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const found = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color.replace(/\s/gu, "")]; // in lists the library parts at blanks
  });
  probe.remove();
  return Object.fromEntries(found);
}

function style() {
  const c = colours();
  const card = (look) => ({
    "background-gradient-stop-colors": `${c[look]} ${c[look]} ${c.surface} ${c.surface}`,
    "border-color": c[look],
  });
  return [
    {
      selector: "node",
      style: {
        ...CARD,
        shape: "round-rectangle",
        "corner-radius": 8,
        "border-width": 1.5,
        "background-fill": "linear-gradient",
        "background-gradient-direction": "to-right",
        "background-gradient-stop-positions": "0 3.4 3.4 100",
        label: "data(label)",
        color: c.ink,
        "font-family": fontOf(),
        "font-size": TEXT.size,
        "text-wrap": "wrap",
        "text-max-width": CARD.width,
        "text-valign": "center",
        "text-halign": "right",
        "text-justification": "left",
        "text-margin-x": TEXT.left - CARD.width,
        "line-height": 1.25,
        "min-zoomed-font-size": 5,
        ...card("retired"),
      },
    },
    { selector: "node.observation", style: { shape: "cut-rectangle", "corner-radius": 10 } },
    ...["proposed", "confirmed", "challenged"].map((look) => ({ selector: `node.${look}`, style: card(look) })),
    { selector: "node.retired", style: { color: c["ink-faint"], "border-style": "dashed" } },
    { selector: "node.at-risk", style: { "border-color": c.risk, "border-width": 4 } },
    {
      selector: "node.root",
      style: {
        "underlay-color": c.accent,
        "underlay-opacity": 0.22,
        "underlay-padding": 9,
        "underlay-shape": "round-rectangle",
      },
    },
    { selector: "node.chosen", style: { "outline-color": c.accent, "outline-width": 3, "outline-offset": 4 } },
    {
      selector: "node.far",
      style: { label: "data(near)", "font-size": 21, "font-weight": 600, "text-halign": "center", "text-margin-x": 3 },
    },
    {
      selector: "edge",
      style: {
        width: 1.5,
        "line-color": c.edge,
        "target-arrow-color": c.edge,
        "target-arrow-shape": "triangle",
        "arrow-scale": 1.1,
        "curve-style": "bezier",
        "control-point-step-size": 36,
        label: "data(label)",
        color: c["ink-soft"],
        "font-size": 10.5,
        "font-family": fontOf(),
        "text-background-color": c.paper,
        "text-background-opacity": 0.92,
        "text-background-padding": 2,
        "min-zoomed-font-size": 8,
      },
    },
    { selector: "edge.far", style: { label: "" } },
    { selector: "edge.onwards", style: { "source-endpoint": "90deg", "target-endpoint": "270deg" } },
    { selector: "edge.downwards", style: { "source-endpoint": "180deg", "target-endpoint": "0deg" } },
    {
      selector: "edge.DEPENDS_ON",
      style: { width: 2.6, "line-color": c["edge-strong"], "target-arrow-color": c["edge-strong"] },
    },
    {
      selector: "edge.DERIVED_FROM",
      style: {
        width: 2,
        "line-color": c["edge-strong"],
        "target-arrow-color": c["edge-strong"],
        "target-arrow-shape": "vee",
      },
    },
    {
      selector: "edge.CONTRADICTS",
      style: {
        width: 2.6,
        "line-color": c.challenged,
        "target-arrow-color": c.challenged,
        "target-arrow-shape": "tee",
      },
    },
    { selector: "edge.SUPPORTS", style: { "line-color": c.confirmed, "target-arrow-color": c.confirmed } },
    {
      selector: "edge.SUPERSEDES",
      style: { width: 2, "line-style": "dashed", "line-color": c.retired, "target-arrow-color": c.retired },
    },
    { selector: "edge.RELATED_TO", style: { "line-style": "dotted", "target-arrow-shape": "none" } },
    { selector: ".aside", style: { opacity: 0.28 } },
    { selector: "edge.marked", style: { width: 4, "line-color": c.risk, "target-arrow-color": c.risk, "z-index": 9 } },
  ];
}

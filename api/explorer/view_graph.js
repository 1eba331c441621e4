// Where an item came from and what rests on it, as a graph that can be expanded, filtered and looked at in the past.

import { address, changed, go, here } from "./address.js";
import { Problem, ask } from "./api.js";
import { el, refill } from "./elements.js";
import { ofNeighbours, ofWalks, Subgraph } from "./graph_data.js";
import { Figure } from "./graph_figure.js";
import { itemHead, noItem } from "./item_frame.js";
import { link } from "./parts.js";
import { CHANGES, NEIGHBOURS, WALK } from "./queries.js";
import { tell } from "./status.js";
import { Timeline } from "./timeline.js";
import { RELATIONS, counted, instant } from "./words.js";

const DIRECTIONS = [
  ["BOTH", "Both"],
  ["UPSTREAM", "What it rests on"],
  ["DOWNSTREAM", "What rests on it"],
];
const DEPTH = 6;
const NODES = 200;
const NODES_MORE = 1000;
const EVENTS_NODES = 200; // whose changes stand on the slider

export async function graph(route, signal) {
  const desk = new Desk(route);
  await desk.load(route, signal);
  if (!desk.now.root) return noItem({ ...route, asOf: null });
  desk.words();
  return {
    title: `Graph of ${route.key}`,
    wide: true,
    content: [desk.head, desk.tools, desk.notes, desk.figure.element],
    placed: () => desk.begin(),
    update: async (next, until) => {
      await desk.load(next, until);
      desk.show();
    },
    close: () => desk.close(),
  };
}

/** What the view holds between two addresses. */
class Desk {
  constructor(route) {
    this.timeline = new Timeline((asOf) => go(changed({ asOf }), { replace: true }));
    this.head = el("div", {});
    this.tools = el("div", { class: "graph-tools" });
    this.notes = el("div", {});
    this.figure = new Figure({
      caption: `Graph of ${route.key}`,
      below: this.timeline.element,
      expand: (node) => this.expand(node),
      expanded: (node) => (here().open ?? []).includes(nameOf(node)),
      onchoose: (node) => history.replaceState(null, "", address(changed({ chosen: node ? nameOf(node) : null }))),
    });
  }

  /** Asks for what the address shows: the graph now, by which all is placed, and as it was where a moment is said. */
  async load(route, signal) {
    const asked = JSON.stringify([route.direction, route.relation, route.depth, route.more, route.open]);
    const present = asked === this.asked ? this.now : walked(route, null, signal);
    const past = route.asOf ? walked(route, route.asOf, signal) : null;
    [this.now, this.then] = await Promise.all([present, past]);
    this.changed = asked !== this.asked;
    this.asked = asked;
    this.route = route;
  }

  async begin() {
    const { chosen } = this.route;
    const found = [...this.whole().nodes.values()].find((node) => nameOf(node) === chosen);
    this.figure.chosen = found?.id ?? null;
    this.timeline.set(this.route.asOf ?? null);
    await this.figure.begin(this.shown(), this.whole());
    this.fillTime(); // nobody waits for it
  }

  show() {
    this.words();
    this.figure.show(this.shown(), this.whole());
    if (this.changed) this.fillTime();
    else this.timeline.set(this.route.asOf ?? null);
    const { nodes, edges } = this.shown();
    const when = this.route.asOf ? `On ${instant(this.route.asOf)}` : "Now";
    tell(`${when}: ${counted(nodes.size, "item")}, ${counted(edges.size, "relation")}.`);
  }

  shown() {
    return this.then ?? this.now;
  }

  whole() {
    const all = new Subgraph(this.now.root);
    all.add(this.now);
    if (this.then) all.add(this.then);
    return all;
  }

  words() {
    const { route } = this;
    const root = this.shown().nodes.get(this.now.root) ?? this.now.nodes.get(this.now.root);
    const focused = document.activeElement;
    refill(this.head, itemHead(root, route));
    refill(this.tools, ...controls(route, this.now));
    if (focused?.id && !focused.isConnected) document.getElementById(focused.id)?.focus();
    if (focused?.tagName === "H1") this.head.querySelector("h1").focus({ preventScroll: true });
    refill(this.notes, ...notes(this.shown(), this.now, route));
  }

  expand(node) {
    const name = nameOf(node);
    const open = here().open ?? [];
    go(changed({ open: open.includes(name) ? open.filter((each) => each !== name) : [...open, name] }), {
      replace: false,
    });
  }

  async fillTime() {
    const { project, key, asOf } = this.route;
    try {
      const variables = { project, key, ...walkOf(this.route), maxNodes: EVENTS_NODES };
      const found = await Promise.all(waysOf(this.route).map((direction) => ask(CHANGES, { ...variables, direction })));
      const nodes = found.flatMap(({ provenance: { root, nodes: others } }) => [root, ...others]);
      const events = nodes.flatMap(({ key: of, events: list }) => list.edges.map(({ node }) => ({ ...node, key: of })));
      const once = [...new Map(events.map((event) => [event.seq, event])).values()];
      if (!this.figure.closed) this.timeline.fill(once, asOf ?? null);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.timeline.element.hidden = true; // the date in the frame still leads to the past
    }
  }

  close() {
    clearTimeout(this.timeline.timer);
    this.figure.close();
  }
}

/** A node's name in an address: its generation and its key. */
function nameOf(node) {
  return `${node.generation}:${node.key}`;
}

function walkOf(route) {
  const depth = Math.min(20, Math.max(1, Number(route.depth) || DEPTH));
  return {
    relations: route.relation?.length ? route.relation.filter((name) => name in RELATIONS) : null,
    depth,
    maxNodes: route.more ? NODES_MORE : NODES,
  };
}

function waysOf({ direction }) {
  return ["UPSTREAM", "DOWNSTREAM"].includes(direction) ? [direction] : ["UPSTREAM", "DOWNSTREAM"];
}

async function walked(route, asOf, signal) {
  const { project, key } = route;
  const ways = waysOf(route).map((direction) => ask(WALK, { project, key, asOf, direction, ...walkOf(route) }, signal));
  const opened = (route.open ?? []).map((name) => {
    const [, generation, of] = /^(\d+):(.*)$/su.exec(name) ?? [null, 1, name];
    return ask(NEIGHBOURS, { project, key: of, generation: Number(generation), asOf }, signal);
  });
  const [walks, others] = await Promise.all([Promise.all(ways).catch(notYet), Promise.all(opened)]);
  const graph = ofWalks(walks.map(({ provenance }) => provenance));
  for (const { knowledge } of others)
    graph.add(ofNeighbours(knowledge).within(route.relation ?? [], new Set([knowledge?.id])));
  graph.truncated = walks.some(({ provenance }) => provenance.truncated);
  return graph;
}

/** Before an item was first said there is no graph of it. */
function notYet(error) {
  if (error.code === "NOT_FOUND") return [];
  throw error;
}

function notes(shown, now, route) {
  return [
    route.asOf && shown.nodes.size === 0 && el("p", { class: "note" }, "It was not known yet at that moment."),
    now.truncated &&
      el(
        "p",
        { class: "note" },
        `Only the nearest are shown, ${route.more ? NODES_MORE : NODES} at most on either side and ${walkOf(route).depth} steps away. `,
        !route.more && link(changed({ more: 1 }), { "data-keep-focus": true }, `Show up to ${NODES_MORE}`),
      ),
  ];
}

function controls(route, now) {
  const direction = route.direction ?? "BOTH";
  const chosen = route.relation ?? [];
  const counts = new Map();
  for (const { relation } of now.edges.values()) counts.set(relation, (counts.get(relation) ?? 0) + 1);
  const toggle = (name) => (chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return [
    el(
      "nav",
      { class: "segments", "aria-label": "Direction" },
      DIRECTIONS.map(([value, name]) =>
        link(
          changed({ direction: value === "BOTH" ? null : value }),
          { id: `to-${value}`, "aria-current": direction === value && "true", "data-keep-focus": true },
          name,
        ),
      ),
    ),
    el(
      "fieldset",
      { class: "chips" },
      el("legend", { class: "unseen" }, "Relations"),
      Object.entries(RELATIONS).map(([name, { name: words }]) =>
        el(
          "label",
          { class: `chip ${name}`, for: `only-${name}` },
          el("input", {
            type: "checkbox",
            id: `only-${name}`,
            checked: chosen.includes(name),
            onchange: () => go(changed({ relation: toggle(name) })),
          }),
          words,
          counts.has(name) && el("span", { class: "faint" }, ` ${counts.get(name)}`),
        ),
      ),
    ),
    el(
      "label",
      { class: "tick", for: "depth" },
      "Steps",
      el(
        "select",
        { id: "depth", onchange: (event) => go(changed({ depth: event.target.value })) },
        [1, 2, 3, 4, 6, 10, 20].map((depth) =>
          el("option", { value: depth, selected: depth === (Number(route.depth) || DEPTH) }, String(depth)),
        ),
      ),
    ),
  ];
}

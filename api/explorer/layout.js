// Where the nodes stand: the root in the middle, what it rests on to the right in columns by distance, what rests on it
// to the left. Layouts of the library have one root at one end, and a column of a hundred would be a hundred high.

export const CARD = { width: 200, height: 64 };
const GAP = { column: 112, sub: 22, row: 18, columnTurned: 58 };
const NARROW = 620; // a frame of fewer pixels has the columns as rows, from above to below
const SWEEPS = 4;

/** The middle of each node by id, for a frame of that width and height; `turned` says that columns lie as rows. */
export function layout(graph, frame) {
  const turned = frame.width < NARROW;
  const size = turned
    ? {
        along: CARD.height,
        across: CARD.width,
        gap: GAP.columnTurned,
        frame: { along: frame.height, across: frame.width },
      }
    : { along: CARD.width, across: CARD.height, gap: GAP.column, frame: { along: frame.width, across: frame.height } };
  const columns = ordered(graph, columnsOf(graph, levels(graph)));
  const rows = rowsFor(columns, size);
  const places = new Map();
  const widths = new Map([...columns].map(([level, ids]) => [level, Math.ceil(ids.length / rows)]));
  for (const [level, ids] of columns) {
    const start = startOf(level, widths, size);
    const high = Math.ceil(ids.length / widths.get(level));
    ids.forEach((id, at) => {
      const sub = Math.floor(at / high);
      const inColumn = Math.min(high, ids.length - sub * high);
      const along = start + Math.sign(level || 1) * sub * (size.along + GAP.sub);
      const across = ((at % high) - (inColumn - 1) / 2) * (size.across + GAP.row) + (sub % 2) * 12;
      places.set(id, turned ? { x: across, y: along } : { x: along, y: across });
    });
  }
  return { places, turned };
}

/** The signed distance of each node: along edges from the root it grows, against them it falls. */
function levels(graph) {
  const found = new Map([[graph.root, 0]]);
  spread(graph, found, (edge) => [edge.from, edge.to, 1]);
  const down = new Map([[graph.root, 0]]);
  spread(graph, down, (edge) => [edge.to, edge.from, -1]);
  for (const [id, level] of down) if (!found.has(id)) found.set(id, level);
  spread(
    graph,
    found,
    (edge) => [edge.from, edge.to, 1],
    (edge) => [edge.to, edge.from, -1],
  );
  for (const id of graph.nodes.keys()) if (!found.has(id)) found.set(id, 0);
  return found;
}

function spread(graph, found, ...ways) {
  const next = new Map();
  for (const edge of graph.edges.values()) {
    for (const way of ways) {
      const [here, there, step] = way(edge);
      if (!next.has(here)) next.set(here, []);
      next.get(here).push([there, step]);
    }
  }
  const waiting = [...found.keys()];
  for (let at = 0; at < waiting.length; at += 1) {
    for (const [there, step] of next.get(waiting[at]) ?? []) {
      if (found.has(there)) continue;
      found.set(there, found.get(waiting[at]) + step);
      waiting.push(there);
    }
  }
}

function columnsOf(graph, found) {
  const columns = new Map();
  const byKey = [...graph.nodes.values()].sort((a, b) =>
    a.key < b.key ? -1 : a.key > b.key ? 1 : a.generation - b.generation,
  );
  for (const { id } of byKey) {
    const level = found.get(id);
    if (!columns.has(level)) columns.set(level, []);
    columns.get(level).push(id);
  }
  return columns;
}

/** The same columns, each ordered by where its neighbours in the columns nearer to the root stand. */
function ordered(graph, columns) {
  const neighbours = new Map();
  for (const { from, to } of graph.edges.values()) {
    for (const [one, other] of [
      [from, to],
      [to, from],
    ]) {
      if (!neighbours.has(one)) neighbours.set(one, []);
      neighbours.get(one).push(other);
    }
  }
  const rank = new Map();
  const note = (ids) => ids.forEach((id, at) => rank.set(id, ids.length > 1 ? at / (ids.length - 1) : 0.5));
  columns.forEach(note);
  const outwards = [...columns.keys()].sort((a, b) => Math.abs(a) - Math.abs(b));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const level of sweep % 2 ? [...outwards].reverse() : outwards) {
      const ids = columns.get(level);
      const middle = new Map(
        ids.map((id) => {
          const others = (neighbours.get(id) ?? []).filter((other) => rank.has(other));
          return [
            id,
            others.length ? others.reduce((sum, other) => sum + rank.get(other), 0) / others.length : rank.get(id),
          ];
        }),
      );
      ids.sort((a, b) => middle.get(a) - middle.get(b));
      note(ids);
    }
  }
  return columns;
}

/** How many nodes stand beside each other in a column, so that all of it is as large as can be in the frame. */
function rowsFor(columns, { along, across, gap, frame }) {
  const sizes = [...columns.values()].map((ids) => ids.length);
  const most = Math.max(...sizes, 1);
  let best = { rows: 1, scale: 0 };
  for (let rows = 1; rows <= most; rows += 1) {
    const long = sizes.reduce((sum, size) => sum + Math.ceil(size / rows) * (along + GAP.sub) + gap - GAP.sub, 0);
    const scale = Math.min(frame.along / long, frame.across / (rows * (across + GAP.row)));
    if (scale > best.scale) best = { rows, scale };
  }
  return best.rows;
}

/** Where a column begins: behind all that stand between it and the root's. */
function startOf(level, widths, { along, gap }) {
  const side = Math.sign(level);
  let start = 0;
  for (let at = 0; at !== level; at += side) {
    const within = at === 0 && side < 0 ? 1 : (widths.get(at) ?? 0);
    start += side * (within * (along + GAP.sub) - GAP.sub + gap);
  }
  return start;
}

"""How answers look to a person: tables, trees and sentences made of what ``answers`` and the service gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from api.screen import harmless
from graph.exchange import Report
from graph.knowledge import NodeId, named
from graph.rows import id_of

REFUSALS_SHOWN_MAX = 20
LINES_NAMED_MAX = 3  # of those that the same is wrong with
HISTORY_SHOWN_MAX = 15
EDGES_SHOWN_MAX = 12  # of one relation in one direction

_STYLES = {
    "proposed": "yellow",
    "confirmed": "green",
    "challenged": "magenta",
    "corrected": "bright_black",
    "superseded": "bright_black",
    "invalidated": "red",
}
_CAUTIONS = {
    "retired": "retired",
    "unconfirmed": "nobody has confirmed it",
    "disputed": "disputed",
    "at_risk": "at risk: it rests on what was retired",
    "stale": "stale",
    "forgotten": "forgotten: it is in no list or search",
}

Row = dict[str, Any]


def shown(answer: Row) -> Iterator[RenderableType]:
    """One node with all that is known of it."""
    node = answer["node"]
    yield Text.assemble((_name(node), "bold"), "  ", _state(node))
    yield Text(harmless(node["proposition"]))
    yield ""
    yield _facts(node)
    for caution in answer["cautions"]:
        yield _caution(caution)
    yield from _section("Relations", _relations(answer))
    yield from _section("Evidence", [_evidence(answer["evidence"])] if answer["evidence"] else [])
    yield from _section("History", [_history(answer)])
    if answer["impact"] is not None:
        yield from _section("What rests on it", [_impact(node, answer["impact"])])


def traced(walk: Row, direction: str) -> Iterator[RenderableType]:
    """A provenance map as a tree: each node once, at its nearest, and each edge once."""
    yield _Walk(walk, direction).tree()
    count, relations = len(walk["nodes"]), len(walk["edges"])
    yield Text(f"{_count(count, 'node')}, {_count(relations, 'relation')}, at position {walk['at_seq']:,}", "dim")
    if walk["truncated"]:
        yield Text("There is more behind it: --depth and --max-nodes go further.", "yellow")


def found(answer: Row) -> Iterator[RenderableType]:
    """What a search found, best first."""
    for item in answer["items"]:
        node = item["node"]
        yield Text.assemble((_name(node), "bold"), "  ", _state(node), (f"  {item['score']:.2f}", "dim"))
        yield Padding(Text(harmless(node["proposition"])), (0, 0, 0, 2))
        if item["via"] is not None:
            yield Padding(Text(f"found by: {harmless(item['via'])}", "dim"), (0, 0, 0, 2))
        for caution in item["cautions"]:
            yield Padding(Text(f"! {harmless(caution)}", "yellow"), (0, 0, 0, 2))
    if not answer["items"]:
        yield Text("nothing answers that")
    if answer["omitted"]:
        yield Text(f"{answer['omitted']:,} left out", "dim")


def counted(stats: Row) -> Iterator[RenderableType]:
    """How much of what a project holds."""
    table = _table()
    for name in ("project", "events", "nodes", "edges", "evidence", "at_risk", "forgotten", "head"):
        value = stats[name]
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else harmless(str(value)))
    for group in ("states", "kinds", "relations"):
        for name, count in cast("dict[str, int]", stats[group]).items():
            if count:
                table.add_row(f"{group[:-1]} {name}", Text(f"{count:,}", _STYLES.get(name, "")))
    yield table


def verified(answer: Row) -> Iterator[RenderableType]:
    """Whether a project is whole, and the head to keep."""
    if answer["ok"]:
        yield Text.assemble(
            ("whole", "bold green"),
            f": {_count(answer['events'], 'event')} chained without a gap, and every node, relation and piece of "
            "evidence is what they make",
        )
    else:
        broken = answer["first_broken"]
        where = "the graph is not what the journal makes" if broken is None else f"broken at event {broken}"
        yield Text.assemble(("not whole", "bold red"), f": {where}")
        for sentence in answer["differences"]:
            yield Text(f"  {harmless(sentence)}")
    if answer["ok"] and answer["head"] is not None:
        yield Text("Keep this head where nobody can change it, and say it the next time:", "dim")
        yield Text(f"  --saved-seq {answer['head']['seq']} --saved-hash {answer['head']['hash']}")


def imported(report: Report, *, keep_going: bool, restored: bool = False) -> Iterator[RenderableType]:
    """What became of a file."""
    if report.refused and not keep_going:
        refused = f"{report.refused:,} of {_count(report.lines, 'line')} "
        yield Text(f"nothing was taken: {refused}{'is' if report.refused == 1 else 'are'} bad", "bold red")
    else:
        yield Text(
            f"{report.taken:,} taken, {report.repeated:,} there already, {report.refused:,} refused "
            f"of {_count(report.lines, 'line')}"
            + (f"; {_count(report.newly_at_risk, 'node')} newly at risk" if report.newly_at_risk else "")
        )
    if report.redacted:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(report.redacted.items()))
        yield Text(f"{'still in it' if restored else 'taken out'}, as it may be a secret or personal: {kinds}")
    if not report.refusals:
        return
    alike: dict[tuple[str, str, str, str], list[int]] = {}
    for refusal in sorted(report.refusals, key=lambda each: each.line):
        error = refusal.error
        alike.setdefault((error.code, error.field or "", error.message, error.allowed or ""), []).append(refusal.line)
    shown = list(alike.items())[:REFUSALS_SHOWN_MAX]
    table = Table("line", "code", "field", "what is wrong", "allowed", box=None, pad_edge=False, header_style="dim")
    for cells, numbers in shown:
        table.add_row(_lines(numbers), *(Text(harmless(cell)) for cell in cells))
    yield table
    if more := report.refused - sum(len(numbers) for _, numbers in shown):
        yield Text(f"… and {more:,} more", "dim")


def _lines(numbers: Sequence[int]) -> str:
    """The first of the lines that one sentence is about, and how many they are."""
    first = ", ".join(map(str, numbers[:LINES_NAMED_MAX]))
    return first if len(numbers) <= LINES_NAMED_MAX else f"{first} … ({len(numbers):,} lines)"


def learned(answer: Row) -> Iterator[RenderableType]:
    """What became of files that were learned from."""
    table = _table()
    for name in ("files", "accepted", "merged", "repeated", "rejected"):
        table.add_row(name, f"{answer[name]:,}")
    for reason, count in cast("dict[str, int]", answer["reasons"]).items():
        table.add_row(f"  {harmless(reason)}", Text(f"{count:,}", "dim"))
    _add_redacted(table, answer["redacted"])
    yield table
    for item in answer["items"][:REFUSALS_SHOWN_MAX]:
        quality = "" if item["quality"] is None else f", quality {item['quality']:.2f}"
        yield Text(harmless(f"  {item['proposition']}  ({item['reason']}{quality})"), "dim")
    for file in answer["unread"]:
        yield Text(harmless(f"not read to its end: {file['message']}"), "bold red")


def replayed(answer: Row) -> Iterator[RenderableType]:
    """What became of sessions that were replayed."""
    table = _table()
    for name, label in (("sessions", "sessions"), ("known", "  read before"), ("failed", "not replayed")):
        table.add_row(label, f"{answer[name]:,}")
    for group in ("verdicts", "dropped", "refused"):
        for name, count in cast("dict[str, int]", answer[group]).items():
            table.add_row(harmless(name if group == "verdicts" else f"{group}: {name}"), f"{count:,}")
    _add_redacted(table, answer["redacted"])
    if answer["model"] is not None:
        tokens = answer["tokens"]
        told = f"{tokens['asked']:,} asked ({tokens['cached']:,} kept there), {tokens['answered']:,} answered"
        table.add_row(harmless(f"tokens of {answer['model']}"), told)
    yield table
    for failure in answer["failures"][:REFUSALS_SHOWN_MAX]:
        yield Text(harmless(f"not replayed: {failure['file']}: {failure['message']}"), "bold red")


def exported(files: int, folder: str) -> Iterator[RenderableType]:
    """Where concept files were written, and how many."""
    yield Text(harmless(f"{_count(files, 'file')} in {folder}"))


def embedded(made: Mapping[str, int]) -> Iterator[RenderableType]:
    """How many nodes of each project were embedded."""
    for project, nodes in made.items():
        yield Text(harmless(f"{_count(nodes, 'node')} embedded in {project}"))


def _add_redacted(table: Table, redacted: Mapping[str, int]) -> None:
    for kind, count in redacted.items():
        table.add_row(f"redacted: {kind}", f"{count:,}")


def plain_import(report: Report) -> Row:
    """What became of a file, for machines."""
    told = {name: getattr(report, name) for name in ("lines", "taken", "repeated", "refused", "newly_at_risk")}
    refusals = sorted(report.refusals, key=lambda each: each.line)
    told["redacted"] = dict(sorted(report.redacted.items()))
    return {**told, "refusals": [{"line": each.line, **each.error.facts()} for each in refusals]}


class _Walk:
    """The maps of a walk, and the edges that lead on from each node."""

    def __init__(self, walk: Row, direction: str) -> None:
        root = walk["root"]
        self.root = id_of(root)
        self.nodes: dict[NodeId, Row] = {id_of(node): node for node in [root, *walk["nodes"]]}
        self.onward: dict[NodeId, list[tuple[int, NodeId, str]]] = {node_id: [] for node_id in self.nodes}
        for number, edge in enumerate(walk["edges"]):
            start, end, relation = _id(edge["from"]), _id(edge["to"]), edge["relation"]
            if direction != "downstream":
                self.onward[start].append((number, end, f"{relation} →"))
            if direction != "upstream":
                self.onward[end].append((number, start, f"{relation} ←"))
        self.nearest = self._nearest()
        self.told: set[int] = set()

    def _nearest(self) -> set[tuple[int, NodeId]]:
        """For each node the edge over which it is reached first; only there its own edges are shown."""
        found: set[tuple[int, NodeId]] = set()
        seen, waiting = {self.root}, [self.root]
        for node_id in waiting:
            for number, other, _ in self.onward[node_id]:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
                    found.add((number, other))
        return found

    def tree(self) -> Tree:
        tree = Tree(_line(self.nodes[self.root]), guide_style="dim")
        self._grow(tree, self.root)
        return tree

    def _grow(self, branch: Tree, node_id: NodeId) -> None:
        for number, other, arrow in self.onward[node_id]:
            if number in self.told:
                continue
            self.told.add(number)
            if (number, other) in self.nearest:
                self._grow(branch.add(_line(self.nodes[other], arrow)), other)
            else:
                branch.add(Text(f"{arrow} {_name(self.nodes[other])}  (shown elsewhere)", "dim", no_wrap=True))


def _line(node: Row, arrow: str = "") -> Text:
    said = " ".join(harmless(node["proposition"]).split())
    text = Text.assemble((f"{arrow} " if arrow else "", "cyan"), (_name(node), "bold"), "  ", _state(node), "  ", said)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _state(node: Row) -> Text:
    text = Text(node["state"], _STYLES[node["state"]])
    for flag in ("at_risk", "stale", "forgotten"):
        if node[flag]:
            text.append(f", {flag.replace('_', ' ')}", "red" if flag == "at_risk" else "yellow")
    return text


def _facts(node: Row) -> Table:
    table = _table()
    table.add_row("kind", node["kind"])
    table.add_row("valid", f"from {_day(node['valid_from'])} " + _until(node["valid_to"]))
    table.add_row("created", _day(node["created_at"]))
    table.add_row("verified", _day(node["verified_at"]) if node["verified_at"] else "never, with evidence")
    if node["uses"]:
        table.add_row("used", _count(node["uses"], "time"))
    lineage = node["lineage"]
    if lineage:
        sources = ", ".join(f"{s['type']} {s['id']}" for s in lineage.get("sources", []))
        method = f" by {lineage['method']}" if lineage.get("method") else ""
        table.add_row("from", harmless(f"{sources or 'no named source'}{method}"))
    return table


def _until(valid_to: str | None) -> str:
    return "on" if valid_to is None else f"to {_day(valid_to)}"


def _caution(caution: Row) -> Text:
    text = Text(f"! {_CAUTIONS[caution['caution']]}", "bold yellow")
    if caution["because"]:
        text.append(f" ({', '.join(map(harmless, caution['because']))})", "bold yellow")
    if caution["reason"]:
        text.append(f": {harmless(caution['reason'])}", "yellow")
    return text


def _relations(answer: Row) -> Iterator[RenderableType]:
    mine, arrows = id_of(answer["node"]), dict[str, list[Row]]()
    near = {id_of(node): node for node in answer["neighbours"]}
    for edge in answer["relations"]:
        arrow = "→" if _id(edge["from"]) == mine else "←"
        arrows.setdefault(f"{edge['relation']} {arrow}", []).append(edge)
    table = _table()
    for arrow, edges in arrows.items():
        for edge in edges[:EDGES_SHOWN_MAX]:
            end = _id(edge["to"] if arrow.endswith("→") else edge["from"])
            said = _line(near[end]) if end in near else Text(harmless(named(end)))
            if edge["until"] is not None:
                said.append(f"  (until {_day(edge['until'])})", "dim")
            table.add_row(Text(arrow, "cyan"), said)
        if len(edges) > EDGES_SHOWN_MAX:
            table.add_row("", Text(f"… and {len(edges) - EDGES_SHOWN_MAX:,} more", "dim"))
    if arrows:
        yield table


def _evidence(records: list[Row]) -> Table:
    table = _table()
    for record in records:
        where = record["source"] + (f"  {record['artifact_ref']}" if record["artifact_ref"] else "")
        table.add_row(harmless(record["type"]), _day(record["timestamp"]), Text(harmless(where), overflow="fold"))
    return table


def _history(answer: Row) -> Group:
    events, table = answer["history"][-HISTORY_SHOWN_MAX:], _table()
    for event in events:
        who = f"{event['actor']['subject']} of {event['actor']['issuer']} ({event['actor']['type']})"
        said = harmless(who + (f": {event['reason']}" if event["reason"] else ""))
        table.add_row(f"{event['seq']:,}", _day(event["time"]), event["transition"], said)
    earlier = answer["earlier_events"] + len(answer["history"]) - len(events)
    return Group(*([Text(f"… {_count(earlier, 'event')} before", "dim")] if earlier else []), table)


def _impact(node: Row, impact: Row) -> Text:
    names = ", ".join(_name(each) for each in impact["first"])
    more = " …" if impact["count"] > len(impact["first"]) else ""
    told = "Its retirement put" if node["retired"] else "Retiring it would put"
    count = _count(impact["count"], "live node") if impact["count"] else "nothing"
    return Text(f"{told} {count} at risk" + (f": {names}{more}" if names else ""))


def _section(title: str, body: Iterable[RenderableType]) -> Iterator[RenderableType]:
    parts = list(body)
    if parts:
        yield Text(f"\n{title}", "bold")
        yield from (Padding(part, (0, 0, 0, 2)) for part in parts)


def _table() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    return table


def _day(instant: str) -> str:
    """The instant without a midnight, for people."""
    return instant.removesuffix("T00:00:00Z")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _name(node: Row) -> str:
    return harmless(named(id_of(node)))


def _id(node_id: Any) -> NodeId:
    return (node_id[0], node_id[1])

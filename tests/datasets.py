"""The real data of the shared folder as journal lines, by the mappings of its README.

Each function yields dicts as `journal.md` describes them, with explicit event ids, times and actors, in an
order in which every node is there before anything is said about it. Nothing is invented: a relation to what is
not in the set yields no line (`rfc_dangling` and `debian_dangling` list them).
"""

# pyright: strict

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

ADOPTED = ("Accepted", "Final", "Active")
PEP_ACTOR: Record = {"issuer": "peps.python.org", "subject": "headers", "type": "system"}
RFC_ACTOR: Record = {"issuer": "www.rfc-editor.org", "subject": "index", "type": "system"}
DEBIAN_ACTOR: Record = {"issuer": "deb.debian.org", "subject": "packages", "type": "system"}

RFC_INDEX_DAY = "2024-08-26"
DEBIAN_DAY = "2026-01-10"  # any day will do: the list itself carries no dates
DEBIAN_OLD_DAY = "2025-09-06"

# Lines of one day are told in this order.
CREATED, SETTLED, RELATED, ENDED = range(4)


def _records(path: Path) -> list[Record]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def _instant(day: str) -> str:
    """A day, or the first of a month, at midnight UTC."""
    return f"{day if len(day) == 10 else day + '-01'}T00:00:00Z"


class _Told:
    """Lines that are put in order of time at the end; of one instant by phase, then as they were told."""

    def __init__(self, actor: Record) -> None:
        self.actor = actor
        self.lines: list[tuple[str, int, Record]] = []

    def say(self, phase: int, time: str, event_id: str, transition: str, key: str, payload: Record) -> None:
        """A reason among the payload is the event's, not the payload's."""
        line: Record = {"event_id": event_id, "transition": transition, "key": key}
        line |= {"actor": dict(self.actor), "time": time}
        if "reason" in payload:
            line["reason"] = payload["reason"]
        line["payload"] = {part: value for part, value in payload.items() if part != "reason"}
        self.lines.append((time, phase, line))

    def in_order(self) -> list[Record]:
        return [line for _, _, line in sorted(self.lines, key=lambda told: told[:2])]


# --- PEPs ---------------------------------------------------------------------------------------------------


def pep_supersessions(records: list[Record]) -> dict[str, list[str]]:
    """Superseded PEP -> its successors in order of number; both sides of the record, each edge once."""
    ids = {record["number"]: record["id"] for record in records}
    edges = {(ids[old], record["id"]) for record in records for old in record["replaces"]}
    edges |= {(record["id"], ids[new]) for record in records for new in record["superseded_by"]}
    successors: dict[str, list[str]] = defaultdict(list)
    for old, new in sorted(edges):
        successors[old].append(new)
    return dict(successors)


def peps(path: Path = SHARED / "peps.jsonl") -> Iterator[Record]:
    """The life of every PEP, in order of time, recorded as it happened: `recorded_at` is the time."""
    records = _records(path)
    by_id = {record["id"]: record for record in records}
    ids = {record["number"]: record["id"] for record in records}
    successors = pep_supersessions(records)
    told = _Told(PEP_ACTOR)

    def created(pep: str) -> str:
        return _instant(by_id[pep]["created"])

    def settled(pep: str) -> str:
        """When it was resolved, as far as known; never before it was there."""
        day = by_id[pep]["resolution_date"] or by_id[pep]["resolution_month"] or by_id[pep]["created"]
        return max(_instant(day), created(pep))

    for record in records:
        pep, status, number = record["id"], record["status"], record["number"]
        name = pep.lower()
        page = f"https://peps.python.org/pep-{number:04d}/"
        resolved: Record = {"evidence": [{"type": "resolution", "source": page, "timestamp": settled(pep)}]}
        lineage: Record = {"sources": [{"type": "pep", "id": str(number)}], "method": "header"}
        proposed: Record = {"proposition": record["title"], "kind": "claim", "lineage": lineage}
        told.say(CREATED, created(pep), f"{name}/proposed", "proposed", pep, proposed)

        if status in ADOPTED:
            told.say(SETTLED, settled(pep), f"{name}/adopted", "confirmed", pep, resolved)
        elif status == "Rejected":
            resolved["reason"] = "turned down when it was decided on"
            told.say(ENDED, settled(pep), f"{name}/rejected", "disproved", pep, resolved)
        elif status == "Withdrawn":
            why = {"reason": "taken back before it was adopted"}
            told.say(ENDED, settled(pep), f"{name}/withdrawn", "invalidated", pep, why)
        elif status == "Deferred":
            why = {"reason": "put off: nobody carries it on for now"}
            told.say(SETTLED, settled(pep), f"{name}/deferred", "challenged", pep, why)

        # One event retires it, by the successor that was settled first among the adopted ones (among all when
        # none was adopted), on that day. The other successors are only linked.
        follow = successors.get(pep, [])
        if status == "Superseded" and not follow:
            why = {"reason": "marked as superseded, but nothing names what took its place"}
            told.say(ENDED, settled(pep), f"{name}/superseded", "invalidated", pep, why)
        elif status == "Superseded":
            adopted = [new for new in follow if by_id[new]["status"] in (*ADOPTED, "Superseded")]
            first = min(adopted or follow, key=lambda new: (settled(new), new))
            time = max(settled(first), settled(pep))
            told.say(ENDED, time, f"{name}/superseded", "superseded", pep, {"by": first})
            follow = [new for new in follow if new != first]
        for new in follow:
            time, link = max(created(new), created(pep)), {"relation": "supersedes", "to": pep}
            told.say(RELATED, time, f"{new.lower()}/supersedes/{name}", "linked", new, link)

        for needed in record["requires"]:
            other = ids[needed]
            time, link = max(created(pep), created(other)), {"relation": "depends_on", "to": other}
            told.say(RELATED, time, f"{name}/requires/{other.lower()}", "linked", pep, link)

    for line in told.in_order():
        yield {**line, "recorded_at": line["time"]}


# --- RFCs ---------------------------------------------------------------------------------------------------


def _also(record: Record, ids: dict[int, str]) -> Iterator[tuple[str, str | None]]:
    """Other names of the record, each with the RFC it means when that is in the set."""
    for name in record["also"]:
        means = ids.get(int(name[3:])) if name.startswith("RFC") else None
        yield name, means


def rfcs(path: Path = SHARED / "rfcs.jsonl.gz") -> Iterator[Record]:
    """The index of RFCs in order of time. A confirmation carries no evidence: being on the index says nothing
    of what an amendment rests on, so it must not clear a mark."""
    records = _records(path)
    by_id = {record["id"]: record for record in records}
    ids = {record["number"]: record["id"] for record in records}
    told = _Told(RFC_ACTOR)
    obsoleted: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for old in record["obsoletes"]:
            obsoleted[ids[old]].append(record["id"])

    def issued(rfc: str) -> str:
        return _instant(by_id[rfc]["date"])

    for record in records:
        rfc, status = record["id"], record["status"]
        name = rfc.lower()
        lineage: Record = {"sources": [{"type": "rfc", "id": str(record["number"])}], "method": "index"}
        proposed: Record = {"proposition": record["title"], "kind": "claim", "lineage": lineage}
        told.say(CREATED, issued(rfc), f"{name}/issued", "proposed", rfc, proposed)
        if status not in ("UNKNOWN", "HISTORIC"):
            told.say(SETTLED, issued(rfc), f"{name}/status", "confirmed", rfc, {"reason": status.lower()})

        follow = sorted(obsoleted.get(rfc, []), key=lambda new: (max(issued(new), issued(rfc)), new))
        for nth, new in enumerate(follow):
            time = max(issued(new), issued(rfc))
            if nth == 0:
                told.say(ENDED, time, f"{name}/obsoleted", "superseded", rfc, {"by": new})
            else:
                link: Record = {"relation": "supersedes", "to": rfc}
                told.say(RELATED, time, f"{new.lower()}/obsoletes/{name}", "linked", new, link)
        if status == "HISTORIC" and not follow:
            why = {"reason": f"historic on the index of {RFC_INDEX_DAY}; since when is not on it"}
            told.say(ENDED, _instant(RFC_INDEX_DAY), f"{name}/historic", "invalidated", rfc, why)

        others = [("updates", "depends_on", ids[number]) for number in record["updates"]]
        named = [means for _, means in _also(record, ids) if means is not None]
        others += [("also", "related_to", means) for means in named if means != rfc]
        for word, relation, other in dict.fromkeys(others):
            time, link = max(issued(rfc), issued(other)), {"relation": relation, "to": other}
            told.say(RELATED, time, f"{name}/{word}/{other.lower()}", "linked", rfc, link)

    yield from told.in_order()


def rfc_dangling(path: Path = SHARED / "rfcs.jsonl.gz") -> list[tuple[str, str]]:
    """Other names (STD, BCP, FYI and the like) that are no node of the set."""
    records = _records(path)
    ids = {record["number"]: record["id"] for record in records}
    return [(record["id"], name) for record in records for name, means in _also(record, ids) if means is None]


# --- Debian -------------------------------------------------------------------------------------------------


def debian(path: Path = SHARED / "debian_depends_3k.jsonl") -> Iterator[Record]:
    """A claim for each package, then all that it says of others. Every node has one evidence record."""
    records = _records(path)
    names = {record["package"] for record in records}
    told = _Told(DEBIAN_ACTOR)

    def propose(day: str, key: str, record: Record, version: str) -> None:
        package = record["package"]
        digest = hashlib.sha256(f"{package} {version}".encode()).hexdigest()
        evidence: Record = {"type": "package", "source": record["section"], "hash": f"sha256:{digest}"}
        proposed: Record = {
            "proposition": f"{package} is at version {version}",
            "kind": "claim",
            "lineage": {"sources": [{"type": "package", "id": package}], "method": "package list"},
            "evidence": [evidence],
        }
        told.say(CREATED, _instant(day), f"{key}/listed", "proposed", key, proposed)

    for record in records:
        package = record["package"]
        propose(DEBIAN_DAY, package, record, record["version"])
        for version in record.get("older_versions", []):
            old = f"{package}={version}"
            propose(DEBIAN_OLD_DAY, old, record, version)
            told.say(ENDED, _instant(DEBIAN_DAY), f"{old}/superseded", "superseded", old, {"by": package})
        said = [("depends", "depends_on"), ("conflicts", "contradicts"), ("suggests", "related_to")]
        for word, relation in said:
            for other in dict.fromkeys(record.get(word, [])):
                if other in names and other != package:
                    link: Record = {"relation": relation, "to": other}
                    event_id = f"{package}/{word}/{other}"
                    told.say(RELATED, _instant(DEBIAN_DAY), event_id, "linked", package, link)

    yield from told.in_order()


def debian_dangling(path: Path = SHARED / "debian_depends_3k.jsonl") -> list[tuple[str, str, str]]:
    """(package, depends or suggests, name) for the names that no package of the set has."""
    records = _records(path)
    names = {record["package"] for record in records}
    return [
        (record["package"], word, other)
        for record in records
        for word, field in (("depends", "unresolved"), ("suggests", "suggests"))
        for other in record.get(field, [])
        if other not in names
    ]

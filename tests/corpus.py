"""Requests that are built to hurt: what each is, and the code that it is refused with (None where it is answered).

Every one is small to send and, for a service without bounds, large to serve.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MIB = 1024 * 1024
NODE = '{ knowledge(project: "P", key: "hub") '
CIRCLE = "fields { type { fields { type { " * 4 + "name" + " } } } }" * 4
OF_TYPE = "ofType { " * 60 + "name" + " }" * 60


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request.

    Attributes:
        name: What it does.
        code: The code of its refusal, None where it is answered.
        content: The body.
        method: The HTTP method.
        path: The path with its query string.
        headers: Beside those of any request.
    """

    name: str
    code: str | None
    content: bytes = b""
    method: str = "POST"
    path: str = "/graphql"
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})


def corpus(foreign: str, journal: str) -> list[Hostile]:
    """All of it.

    Args:
        foreign: A cursor of another project's list.
        journal: A cursor of another list of the same project.
    """
    return [*documents(), *values(foreign, journal), *bodies(), *requests()]


def document(name: str, code: str | None, query: str, **variables: Any) -> Hostile:
    return Hostile(name, code, json.dumps({"query": query, "variables": variables}).encode())


def doubling(levels: int, leaf: str) -> str:
    chain = (f"fragment F{n} on Knowledge {{ ...F{n + 1} ...F{n + 1} }}" for n in range(levels))
    return " ".join((NODE, "{ ...F0 } }", *chain, f"fragment F{levels} on Knowledge {{ {leaf} }}"))


def nested(levels: int) -> str:
    return NODE + "{ relations { to " * levels + "{ key }" + " } }" * levels + " }"


def many(template: str, count: int) -> str:
    return " ".join(template.replace("#", str(n)) for n in range(count))


def documents() -> Iterator[Hostile]:
    """Documents that are expensive to read, to check or to execute."""
    for levels in (18, 25, 40, 60):
        yield document(f"fragments that double {levels} times", None, doubling(levels, "key"))
        yield document(f"lists in fragments that double {levels} times", "LIMIT", doubling(levels, "evidence { key }"))
        yield document(f"aliases in fragments that double {levels} times", "LIMIT", doubling(levels, "x: key"))
    flood = "fragment A on Knowledge { " + many("a#: key", 90) + " }"
    yield document("aliases, spread", "LIMIT", NODE + "{ " + "...A " * 50 + "} } " + flood)
    yield document("aliases of one root field", "LIMIT", "{ " + many("a#: projects", 200) + " }")
    yield document("aliases of introspection", "LIMIT", "{ " + many("a#: __schema { types { name } }", 150) + " }")
    yield document("aliases of __typename", "LIMIT", NODE + "{ " + many("a#: __typename", 900) + " } }")
    long = "a" * 100_000
    yield document(
        "an alias as long as a book", "LIMIT", '{ knowledgeList(project: "P") { edges { ' + long + ": cursor } } }"
    )
    for levels in (8, 30, 90):
        yield document(f"{levels} levels of relations", "LIMIT", nested(levels))
    yield document("2,000 levels of braces", "LIMIT", "{ a " * 2_000 + "}" * 2_000)
    yield document(
        "a chain of fragments", "LIMIT", NODE + "{ ...F0 } } " + _chain(600) + " fragment F600 on Knowledge { key }"
    )
    yield document(
        "a ring of fragments", "VALIDATION", NODE + "{ ...F0 } } " + _chain(1) + " fragment F1 on Knowledge { ...F0 }"
    )
    yield document(
        "a large ring of fragments",
        "LIMIT",
        NODE + "{ ...F0 } } " + _chain(400) + " fragment F400 on Knowledge { ...F0 }",
    )
    yield document(
        "fragments that nobody spreads", "VALIDATION", "{ projects } " + many("fragment F# on Knowledge { key }", 500)
    )
    yield document("fragments spread within each other", "LIMIT", _woven(60))
    yield document("20,000 repeated fields", "LIMIT", "{ " + "projects " * 20_000 + "}")
    yield document("900 repeated fields", "LIMIT", NODE + "{ " + "key " * 900 + "} }")
    yield document(
        "300 repeated fields with selections",
        "LIMIT",
        "{ " + 'knowledge(project: "P", key: "hub") { key state } ' * 300 + "}",
    )
    yield document(
        "fields that differ by an argument",
        "VALIDATION",
        "{ " + many('x: journalHead(project: "#") { seq }', 40) + " }",
    )
    yield document(
        "inline fragments in each other", "LIMIT", NODE + "{ ... on Knowledge " * 400 + "{ key }" + " }" * 400 + " }"
    )
    yield document("a storm of @skip on one field", "LIMIT", "{ projects " + "@skip(if: false) " * 700 + "}")
    yield document(
        "a storm of @skip on many fields",
        "LIMIT",
        NODE + "{ " + "key @skip(if: false) @include(if: true) " * 300 + "} }",
    )
    yield document("a storm of unknown directives", "LIMIT", "{ projects " + many("@a#", 1_600) + "}")
    yield document("unknown fields", "VALIDATION", NODE + "{ " + many("nothing#", 900) + " } }")
    yield document("an unknown field as long as a book", "LIMIT", "{ " + "a" * 90_000 + " }")
    yield document("a comment as long as a book", "LIMIT", "{ projects } # " + "a" * 900_000)
    yield document("400,000 comments", "LIMIT", "{ projects }" + "#\n" * 300_000)
    yield document("900,000 blanks", "LIMIT", "{ projects }" + " " * 900_000)
    yield document(
        "a text of 900,000 characters in the document", "LIMIT", NODE.replace("hub", "a" * 900_000) + "{ key } }"
    )
    yield document("700 operations", "VALIDATION", many("query Q# { projects }", 700))
    yield document(
        "1,200 variables that nobody uses", "VALIDATION", "query(" + many("$a#: Int", 1_200) + ") { projects }"
    )
    yield document("10,000 variables declared", "LIMIT", "query(" + many("$a#: Int", 10_000) + ") { projects }")
    yield document("introspection in circles", "LIMIT", "{ __schema { types { " + CIRCLE + " } } }")
    yield document("introspection 60 levels deep", None, "{ __schema { types { " + OF_TYPE + " } } }")
    yield document(
        "lists in lists, as an argument",
        "VALIDATION",
        '{ knowledgeList(project: "P", filter: {states: ' + "[" * 90 + "]" * 90 + "}) { pageInfo { hasNextPage } } }",
    )
    yield document(
        "lists in lists, 2,000 deep",
        "LIMIT",
        '{ knowledgeList(project: "P", filter: {states: '
        + "[" * 2_000
        + "]" * 2_000
        + "}) { pageInfo { hasNextPage } } }",
    )
    yield document(
        "objects in objects, as an argument",
        "VALIDATION",
        '{ knowledgeList(project: "P", filter: '
        + "{states: " * 180
        + "1"
        + "}" * 180
        + ") { pageInfo { hasNextPage } } }",
    )
    yield document("many searches", "LIMIT", "{ " + many('a#: search(project: "P", text: "x") { tier }', 30) + " }")
    yield document(
        "searches in a fragment",
        "LIMIT",
        "{ ...F } fragment F on Query { " + many('a#: context(project: "P", goal: "x") { text }', 30) + " }",
    )
    yield document(
        "pages within pages",
        "LIMIT",
        """{ knowledgeList(project: "P", first: 1000) { edges { node {
        events(first: 1000) { edges { node { seq } } } } } } }""",
    )
    yield document(
        "a hundred large pages",
        "LIMIT",
        "{ " + many('a#: knowledgeList(project: "P", first: 1000) { edges { node { key proposition } } }', 100) + " }",
    )


def _chain(length: int) -> str:
    return " ".join(f"fragment F{n} on Knowledge {{ ...F{n + 1} }}" for n in range(length))


def _woven(count: int) -> str:
    """Each fragment spreads all behind it: paths without end, and every pair of them to compare."""
    parts = (
        f"fragment F{n} on Knowledge {{ x: key " + " ".join(f"...F{m}" for m in range(n + 1, count)) + " }"
        for n in range(count)
    )
    return NODE + "{ ...F0 } } " + " ".join(parts)


PAGE = 'query($f: Int, $a: String) { knowledgeList(project: "P", first: $f, after: $a) { edges { cursor } } }'
GET_KEY = 'query($k: String!) { knowledge(project: "P", key: $k) { key } }'
BY_ID = "query($i: ID!) { node(id: $i) { id } }"
PROPOSE = """mutation($r: [RelationInput!], $e: [EvidenceInput!]) {
    propose(project: "P", key: "new", proposition: "x", relations: $r, evidence: $e) { applied }
}"""


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def values(foreign: str, journal: str) -> Iterator[Hostile]:
    """Values that are out of every range."""
    for first in (10**9, 2**63, 10**308, 10**400):
        yield document(f"a page of as many as a number of {len(str(first))} digits", "LIMIT", PAGE, f=first)
    for first in (-1, 0, -(2**63), 1.5, True, "1"):
        yield document(f"a page of {str(first)[:20]}", "VALIDATION", PAGE, f=first)
    for text in ("1000000000", "-1", "9223372036854775808", "1" + "0" * 308, "1e308", "9" * 90_000):
        code = "LIMIT" if text == "1000000000" else "VALIDATION"
        yield document(
            f"a page of {text[:20]}, written",
            code,
            f'{{ knowledgeList(project: "P", first: {text}) {{ edges {{ cursor }} }} }}',
        )
    for name, key in (
        ("NUL", "a\0"),
        ("a lone surrogate", "a\ud800"),
        ("900,000 characters", "k" * 900_000),
        ("nothing", ""),
    ):
        yield document(f"a key of {name}", "VALIDATION", GET_KEY, k=key)
        yield document(f"an id of {name}", "VALIDATION", BY_ID, i=key)
    yield document("a cursor of another project", "VALIDATION", PAGE, a=foreign)
    yield document("a cursor of another list", "VALIDATION", PAGE, a=journal)
    yield document("a cursor of 900,000 characters", "VALIDATION", PAGE, a="A" * 900_000)
    yield document("10,000 variables that nobody declared", None, "{ projects }", **{f"a{n}": n for n in range(10_000)})
    yield document(
        "variables nested 400 deep", "VALIDATION", PROPOSE, e=[{"type": "t", "source": "s", "metadata": deep(400)}]
    )
    yield document("input lists nested 400 deep", "VALIDATION", PROPOSE, r=deep(400))
    yield document("100,000 wrong items", "LIMIT", PROPOSE, r=[1] * 100_000)
    yield document("100,000 missing fields", "LIMIT", PROPOSE, e=[{}] * 100_000)
    yield document("50,000 unknown fields", "LIMIT", PROPOSE, r=[{f"a{n}": 1 for n in range(50_000)}])
    yield document("1,000 wrong items", "VALIDATION", PROPOSE, r=[1] * 1_000)
    yield document("1,000 missing fields", "VALIDATION", PROPOSE, e=[{}] * 1_000)
    yield document("items in lists in lists", "VALIDATION", PROPOSE, r=[[[1] * 300] * 300])
    yield document("10,000 relations", "LIMIT", PROPOSE, r=[{"relation": "SUPPORTS", "to": "hub"}] * 10_000)
    yield document(
        "metadata of 900,000 characters",
        "VALIDATION",
        PROPOSE,
        e=[{"type": "t", "source": "s", "metadata": "x" * 900_000}],
    )
    yield document(
        "metadata of 200,000 numbers",
        "VALIDATION",
        PROPOSE,
        e=[{"type": "t", "source": "s", "metadata": [0] * 200_000}],
    )
    yield document("a relation as long as a book", "VALIDATION", PROPOSE, r=[{"relation": "x" * 900_000, "to": "hub"}])
    yield document("a field as long as a book", "VALIDATION", PROPOSE, r=[{"x" * 900_000: 1}])
    yield document(
        "an instant as long as a book",
        "VALIDATION",
        'query($t: DateTime) { knowledge(project: "P", key: "hub", asOf: $t) { key } }',
        t="9" * 900_000,
    )
    yield document("two operations, neither of them named", "VALIDATION", "query A { projects } query B { projects }")


def bodies() -> Iterator[Hostile]:
    """Bodies that are no request."""
    yield Hostile("20 MB", "LIMIT", b'{"query": "{ projects }"}' + b" " * (20 * MIB))
    yield Hostile(
        "a text of 2 MB", "LIMIT", json.dumps({"query": NODE.replace("hub", "a" * 2 * MIB) + "{ key } }"}).encode()
    )
    yield Hostile(
        "variables nested 100,000 deep",
        "VALIDATION",
        b'{"query": "{ projects }", "variables": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    )
    yield Hostile("objects nested 100,000 deep", "VALIDATION", b'{"a":' * 100_000)
    yield Hostile("a batch", "VALIDATION", json.dumps([{"query": "{ projects }"}] * 10_000).encode())
    yield Hostile("a million blanks", "VALIDATION", b" " * (MIB - 1))
    yield Hostile(
        "a number of 900,000 digits",
        "VALIDATION",
        b'{"query": "{ projects }", "variables": {"a": ' + b"9" * 900_000 + b"}}",
    )
    yield Hostile(
        "a fraction of 900,000 digits",
        None,
        b'{"query": "{ projects }", "variables": {"a": 0.' + b"9" * 900_000 + b"}}",
    )
    yield Hostile(
        "a number beyond all floats",
        "VALIDATION",
        json.dumps({"query": PAGE, "variables": {"f": 0}}).replace(": 0}", ": 1e400}").encode(),
    )
    yield Hostile("NaN", "VALIDATION", b'{"query": "{ projects }", "variables": {"a": NaN}}')
    yield Hostile("UTF-8 that is none", "VALIDATION", b'{"query": "{ projects \xff\xfe\xc0\x80 }"}')
    yield Hostile("UTF-16", "VALIDATION", '{"query": "{ projects }"}'.encode("utf-16"))
    yield Hostile("500,000 items", "VALIDATION", b'{"query": "{ projects }", "variables": [' + b"1," * 500_000 + b"1]}")
    yield Hostile(
        "one name 80,000 times", None, b'{"query": "{ projects }", "variables": {' + b'"a": 1, ' * 80_000 + b'"b": 1}}'
    )
    yield Hostile(
        "an operation's name as long as a book",
        "VALIDATION",
        json.dumps({"query": "query A { projects }", "operationName": "A" * 900_000}).encode(),
    )
    yield Hostile(
        "packed by gzip",
        "VALIDATION",
        gzip.compress(b" " * (50 * MIB)),
        headers={"content-type": "application/json", "content-encoding": "gzip"},
    )
    for media in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
        "",
        "x" * 8_000,
    ):
        yield Hostile(
            f"media type {media[:40]!r}", "VALIDATION", b'{"query": "{ projects }"}', headers={"content-type": media}
        )


def requests() -> Iterator[Hostile]:
    """Requests whose path or method is the trick."""
    none: dict[str, str] = {}
    yield Hostile(
        "a mutation by GET",
        "VALIDATION",
        method="GET",
        path="/graphql?query=mutation{use(project:%22P%22,key:%22hub%22){applied}}",
        headers=none,
    )
    yield Hostile(
        "a query by GET of 30,000 characters",
        "LIMIT",
        method="GET",
        path="/graphql?query={" + "projects%20" * 2_700 + "}",
        headers=none,
    )
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        yield Hostile(f"{method} of a query", "VALIDATION", b'{"query": "{ projects }"}', method=method)
    for path in (
        "/export/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/export/..%2f.graphml",
        "/export/%00.jsonl",
        "/export/%FF.jsonl",
        "/export/" + "a" * 5_000 + ".jsonl",
        "/export//etc/passwd",
        "/export/P.jsonl/../../x",
        "/export/P.JSONL",
        "/export/{P}.jsonl",
    ):
        yield Hostile(
            f"GET {path[:60]}",
            "VALIDATION" if path[8:11] in ("%00", "%FF") or len(path) > 1000 else "NOT_FOUND",
            method="GET",
            path=path,
            headers=none,
        )

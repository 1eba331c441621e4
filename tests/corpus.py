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
    return [*documents(), *repetitions(), *texts(), *values(foreign, journal), *bodies(), *requests()]


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


def repetitions() -> Iterator[Hostile]:
    """Documents that say one thing over and over, where a check might compare each with each."""
    yield document("one name for 700 operations", "VALIDATION", "query Q { projects } " * 700)
    yield document("one name for 400 fragments", "VALIDATION", "{ ...F } " + "fragment F on Query { projects } " * 400)
    yield document("one variable 900 times", "VALIDATION", "query(" + "$a: Int " * 900 + ") { projects }")
    yield document("one argument 1,500 times", "VALIDATION", "{ knowledge(" + 'key: "a" ' * 1_500 + ") { key } }")
    yield document("1,500 unknown arguments", "VALIDATION", "{ knowledge(" + many("projekt#: 1", 1_500) + ") { key } }")
    yield document(
        "one field of an input 1,500 times", "VALIDATION", FILTERED.replace("#", "states: [PROPOSED] " * 900)
    )
    yield document("1,500 unknown fields of an input", "VALIDATION", FILTERED.replace("#", many("state#: 1", 1_500)))
    yield document(
        "90 unknown fields beside a long value",
        "VALIDATION",
        'mutation { propose(project: "P", proposition: "x", evidence: [{metadata: ['
        + "1 " * 4_500
        + "] "
        + many("a#: 1", 90)
        + "}]) { applied } }",
    )
    yield document(
        "4,000 unknown values of an enumeration",
        "VALIDATION",
        FILTERED.replace("#", "states: [" + many("PROPOSE#", 4_000) + "]"),
    )
    yield document(
        "900 unknown values of an enumeration",
        "VALIDATION",
        FILTERED.replace("#", "states: [" + many("PROPOSE#", 900) + "]"),
    )
    yield document(
        "400 fragments on types that are not there",
        "VALIDATION",
        "{ " + many("...F#", 40) + " } " + many("fragment F# on Knowledg# { key }", 400),
    )
    yield document("400 spreads of nothing", "VALIDATION", "{ " + many("...F#", 400) + " }")
    yield document("1,200 variables that nobody declared", "VALIDATION", NODE + "{ " + UNDECLARED + " } }")
    yield document(
        "fields that differ by an argument, within one",
        "LIMIT",
        NODE + "{ " + many("events(first: #) { edges { cursor } }", 300) + " } }",
    )
    yield document(
        "45 fields that differ by an argument, within one",
        "VALIDATION",
        NODE + "{ " + many("events(first: #) { edges { cursor } }", 45) + " } }",
    )
    yield document("types instead of operations", "VALIDATION", many("type A# { a: Int }", 600))
    yield document(
        "types beside an operation", "VALIDATION", "{ projects } " + many("extend type Query { a#: Int }", 500)
    )
    yield document("a ladder of @include", "LIMIT", _ladder(120, "@include(if: true)"))
    yield document("a short ladder of @include", None, _ladder(90, "@include(if: true)"))
    yield document("a ladder of @include by variables", "VALIDATION", _ladder(90, "@include(if: $a)"))
    yield document(
        "a ring of introspection", "VALIDATION", "{ __schema { types { ...F } } } fragment F on __Type { " + RING + " }"
    )
    yield document(
        "a ring of introspection through its lists",
        "VALIDATION",
        "{ __schema { types { ...F } } } fragment F on __Type { interfaces { possibleTypes { ...F } } }",
    )
    yield document(
        "99 aliases of a type with all that is in it",
        "LIMIT",
        "{ " + many('a#: __type(name: "Knowledge") { fields { name args { name type { name } } } }', 99) + " }",
    )
    yield document(
        "a storm of directives on operations", "LIMIT", "query Q " + "@skip(if: true) " * 700 + "{ projects }"
    )
    yield document(
        "a storm of directives on a variable", "VALIDATION", "query($a: Int " + "@a " * 90 + ") { projects }"
    )
    yield document(
        "a storm of directives on variables", "VALIDATION", "query(" + many("$a#: Int @a @b @c", 400) + ") { projects }"
    )


FILTERED = '{ knowledgeList(project: "P", filter: {#}) { pageInfo { hasNextPage } } }'
RING = "fields { type { ofType { ...F } args { type { ...F } } } }"
UNDECLARED = "events(first: " + many("$a#", 1_200) + ") { edges { cursor } }"


def _ladder(levels: int, directive: str) -> str:
    return NODE + "{ " + f"... {directive} {{ " * levels + "key" + " }" * levels + " } }"


def texts() -> Iterator[Hostile]:
    """Documents of long or strange texts, which take long to be read one by one."""
    block = '"""'
    key = '{{ knowledge(project: "P", key: {}) {{ key }} }}'
    yield document("a block of 20,000 lines", "VALIDATION", key.format(block + "\n  a" * 20_000 + block))
    yield document("a block of blank lines", "VALIDATION", key.format(block + " \n" * 45_000 + block))
    yield document("a block of quotes", "VALIDATION", key.format(block + '\\""" ' * 18_000 + block))
    yield document("a text of 16,000 escapes", "VALIDATION", key.format('"' + "\\u0041" * 16_000 + '"'))
    yield document("a text that does not end", "VALIDATION", key.format('"' + "a" * 90_000))
    yield document("a block that does not end", "VALIDATION", key.format(block + "\n" * 90_000))
    yield document("2,400 texts of nothing", "VALIDATION", key.format('""' * 2_400))
    yield document("90,000 marks of byte order", None, "\ufeff" * 90_000 + "{ projects }")
    yield document("90,000 commas", None, "{ projects " + "," * 90_000 + "}")
    yield document("90,000 signs that nobody knows", "VALIDATION", "{ projects " + "?" * 90_000 + "}")
    yield document(
        "a type of 2,000 lists", "LIMIT", "query($a: " + "[" * 2_400 + "Int" + "]" * 2_400 + ") { projects }"
    )
    yield document("a type of 200 lists", "VALIDATION", "query($a: " + "[" * 200 + "Int" + "]" * 200 + ") { projects }")
    yield document(
        "a default of 2,000 lists", "LIMIT", "query($a: Int = " + "[" * 2_400 + "]" * 2_400 + ") { projects }"
    )
    yield document(
        "a default of 200 objects", "VALIDATION", "query($a: Int = " + "{a: " * 200 + "1" + "}" * 200 + ") { projects }"
    )


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
        "one name 80,000 times",
        "VALIDATION",
        b'{"query": "{ projects }", "variables": {' + b'"a": 1, ' * 80_000 + b'"b": 1}}',
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
    deep_variables = "[" * 30_000
    yield Hostile(
        "variables by GET, nested 30,000 deep",
        "VALIDATION",
        method="GET",
        path="/graphql?query={projects}&variables=" + deep_variables,
        headers=none,
    )
    yield Hostile(
        "10,000 parameters", None, method="GET", path="/graphql?query={projects}" + "&a=1" * 10_000, headers=none
    )
    yield Hostile(
        "one query 3,000 times", None, method="GET", path="/graphql?" + "query={projects}&" * 3_000, headers=none
    )
    for name, accept in (
        ("8,000 media types", "a/b;q=0.1," * 6_000),
        ("60,000 semicolons", "a/b" + ";" * 60_000),
        ("60,000 commas", "," * 60_000),
        ("a weight of 60,000 digits", "a/b;q=0." + "1" * 60_000),
    ):
        yield Hostile(
            f"accepts {name}",
            None,
            b'{"query": "{ projects }"}',
            headers={"content-type": "application/json", "accept": accept},
        )
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

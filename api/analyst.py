"""What Neo4j Browser loads for analysts: how nodes and edges look, and a guide of queries that can be run in it.

The server that we start tells Browser where both are (``browser.post_connect_cmd``), so that they are there on
connecting. Both hold nothing of a project, and any page may read them.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graph.errors import KnowledgeError
from graph.knowledge import checked_key

STYLE_PATH = "/browser/style.grass"
GUIDE_PATH = "/browser/guide.html"
_ORDER = ("at_risk", "disputes", "lineage", "impact", "history", "this_week", "stale", "foundations")
# By label, the later wins: Browser styles nodes by nothing else. So a state is a colour, risk a ring, kind a size.
_NODES = (
    ("", {"diameter": "50px", "color": "#B0BEC5", "border-color": "#90A4AE", "border-width": "2px"}),
    (".Knowledge", {"caption": "'{proposition}'", "font-size": "10px", "text-color-internal": "#FFFFFF"}),
    (".Claim", {"diameter": "70px"}),
    (".Observation", {"diameter": "45px"}),
    (".Proposed", {"color": "#5C7CFA", "border-color": "#3B5BDB"}),
    (".Confirmed", {"color": "#2B8A3E", "border-color": "#1B5E2B"}),
    (".Challenged", {"color": "#E67700", "border-color": "#B35C00"}),
    (".Retired", {"color": "#868E96", "border-color": "#5C636A"}),
    (".AtRisk", {"border-color": "#E03131", "border-width": "8px"}),
    (".Evidence", {"diameter": "35px", "color": "#1098AD", "border-color": "#0B7285", "caption": "'{source}'"}),
    (".Event", {"diameter": "35px", "color": "#AE3EC9", "border-color": "#862E9C", "caption": "'{transition}'"}),
)
_EDGES = (
    ("", {"color": "#ADB5BD", "shaft-width": "1px", "font-size": "8px", "caption": "'<type>'"}),
    (".DEPENDS_ON", {"color": "#495057", "shaft-width": "3px"}),
    (".DERIVED_FROM", {"color": "#495057", "shaft-width": "2px"}),
    (".CONTRADICTS", {"color": "#E67700", "shaft-width": "3px"}),
    (".SUPERSEDES", {"color": "#868E96", "shaft-width": "2px"}),
)
_LEGEND = (
    "Blue is proposed, green confirmed, orange challenged, grey retired; a red ring is at risk. Claims are large, "
    "observations small. Evidence is teal, events are purple."
)


@dataclass(frozen=True, slots=True)
class AnalystQuery:
    """A query for people: its title, what it shows, and its text, which takes $project and may take $key."""

    title: str
    shows: str
    text: str


@cache
def queries() -> tuple[AnalystQuery, ...]:
    """The queries of the guide, in its order."""
    folder = files("cypher") / "analyst"
    return tuple(_query((folder / f"{name}.cypher").read_text("utf-8")) for name in _ORDER)


def _query(source: str) -> AnalystQuery:
    title, shows, text = source.split("\n", 2)
    return AnalystQuery(title.removeprefix("// "), shows.removeprefix("// "), text.strip())


@cache
def style() -> str:
    """The style sheet, in GraSS."""
    rules = [(f"node{label}", look) for label, look in _NODES]
    rules += [(f"relationship{label}", look) for label, look in _EDGES]
    return "".join(f"{selector} {{\n{_declared(look)}}}\n\n" for selector, look in rules)


def _declared(look: dict[str, str]) -> str:
    return "".join(f"  {name}: {value};\n" for name, value in look.items())


def guide(project: str) -> str:
    """The guide, in the HTML that Browser 5 shows.

    Args:
        project: What its first slide sets as the parameter of all queries.
    """
    first = _slide("Whence", _LEGEND, f":param project => {_cypher_text(project)}", "Set the project first.")
    key = _slide("One item", "Three of the queries are about one item.", ":param key => 'its key'", "Set its key.")
    slides = [first, *(_slide(query.title, query.shows, query.text) for query in queries())]
    slides.insert(3, key)
    return (
        f'<article class="guide">\n<carousel class="deck container-fluid">\n{"".join(slides)}</carousel>\n</article>\n'
    )


def _slide(title: str, shows: str, code: str, hint: str = "Click to have it in the editor.") -> str:
    return (
        f'<slide class="row-fluid"><div class="col-sm-12"><h3>{html.escape(title)}</h3>\n'
        f"<p>{html.escape(shows)}</p><p>{html.escape(hint)}</p>\n"
        f'<pre class="code runnable">{html.escape(code, quote=False)}</pre></div></slide>\n'
    )


def _cypher_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def browser_settings(url: str, project: str) -> tuple[tuple[str, str], ...]:
    """Settings of Neo4j by which its Browser loads both from the API at ``url`` as soon as somebody connects."""
    asked = f"style {url}{STYLE_PATH}; play {url}{GUIDE_PATH}?project={quote(project, safe='')}"
    return (
        ("browser.post_connect_cmd", asked),
        ("browser.remote_content_hostname_whitelist", urlsplit(url).hostname or ""),
    )


def routes() -> list[Route]:
    """Where Browser finds both."""
    return [
        Route(STYLE_PATH, _style, methods=["GET", "OPTIONS"]),
        Route(GUIDE_PATH, _guide, methods=["GET", "OPTIONS"]),
    ]


async def _style(request: Request) -> Response:
    return _readable(request, style(), "text/css")


async def _guide(request: Request) -> Response:
    try:
        project = checked_key(request.query_params.get("project", "default"), "project")
    except KnowledgeError as error:
        return Response(f"{error.message}\n", 400, media_type="text/plain")
    return _readable(request, guide(project), "text/html")


def _readable(request: Request, content: str, media: str) -> Response:
    """The content for any page: Browser comes from Neo4j's port, and asks first whether it may."""
    headers = {"access-control-allow-origin": "*", "cache-control": "no-cache"}
    if request.method == "OPTIONS":
        return Response(None, 204, headers | {f"access-control-allow-{what}": "*" for what in ("methods", "headers")})
    return Response(content, 200, headers, media)

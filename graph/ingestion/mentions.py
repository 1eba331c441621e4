"""The defaults for relations: rules that read them out of a claim, and the nodes that names stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from graph.ingestion.stages import Mention
from graph.knowledge import KEY_CHARS_MAX, Relation
from graph.service import Service

MENTIONS_MAX = 20  # of one claim
_CLAUSE_CHARS_MAX = 1_000  # looked at behind a verb; a key has 200 at most
_VERBS: Mapping[Relation, tuple[str, ...]] = {
    Relation.DEPENDS_ON: (r"\b(?:depends?|depending|relies|rely|relying)\s+on\s+", r"\brequires?\s+", "依赖于?"),
    Relation.DERIVED_FROM: (
        r"\b(?:derived|computed|calculated|extracted|taken)\s+from\s+",
        r"\b(?:is|are|was|were)\s+based\s+on\s+",
        r"\baccording\s+to\s+",
    ),
    Relation.CONTRADICTS: (r"\bcontradict(?:s|ed)?\s+", r"\bdisagrees?\s+with\s+"),
    Relation.SUPPORTS: (r"\b(?:supports?|corroborates?)\s+",),
    Relation.RELATED_TO: (
        r"\b(?:fix(?:es|ed)?|calls?|produces?|consumes?|causes?|replaces?|supersedes?)\s+",
        r"\b(?:belongs?|belonging|relate[sd]?)\s+to\s+",
        r"\b(?:is|are)\s+similar\s+to\s+",
        r"\bsee\s+also\s+",
        "修复|解决|调用|属于",
    ),
}
_RULES = [(relation, re.compile("|".join(forms), re.IGNORECASE)) for relation, forms in _VERBS.items()]
_LINK = re.compile(r"!?\[\[([^\[\]\n|#]+)(?:[#|][^\[\]\n]*)?\]\]")
_END = re.compile(
    r"[.;:!?\u3002\uff1b\uff01\uff1f\uff0c()\n]|,\s+(?!and\b|or\b)"
    r"|\s+(?:because|since|which|that|when|while|if|so|but|for|to|in|as)\s+"
)
_BETWEEN = re.compile(r",\s*(?:and|or)\s+|\s+(?:and|or)\s+|\s*[,\u3001\u548c]\s*")
_ARTICLE = re.compile(r"^(?:the|a|an|this|that|its|their|our)\s+", re.IGNORECASE)
_EDGES = " \t\"'`*_.\u201c\u201d\u2018\u2019"


class Rules:
    """Reads "X depends on Y" and its like, in English and Chinese, and ``[[links]]``; a ``RelationExtractor``."""

    def relations(self, claim: str) -> Sequence[Mention]:
        """Each relation and name once, at most twenty; a name is all up to the end of its clause."""
        found: dict[tuple[Relation, str], Mention] = {}
        for link in _LINK.finditer(claim):
            found.setdefault(
                (Relation.RELATED_TO, link[1].strip()), Mention(Relation.RELATED_TO, link[1].strip(), link[0])
            )
        plain = _LINK.sub(lambda link: link[1].strip(), claim)
        for relation, form in _RULES:
            for verb in islice(form.finditer(plain), MENTIONS_MAX):
                most = verb.end() + _CLAUSE_CHARS_MAX
                end = _END.search(plain, verb.end(), most)
                tail = plain[verb.end() : end.start() if end else most]
                for name in _names(tail):
                    found.setdefault((relation, name), Mention(relation, name, plain[verb.start() : verb.end()] + tail))
        return list(found.values())[:MENTIONS_MAX]


def _names(tail: str) -> list[str]:
    named = (_ARTICLE.sub("", part.strip(_EDGES)).strip(_EDGES) for part in (tail, *_BETWEEN.split(tail)))
    return list(dict.fromkeys(name for name in named if 0 < len(name) <= KEY_CHARS_MAX))


class Keys:
    """A name stands for the live node whose key it is, as it is written or as a slug; ``Matcher`` by its form.

    Args:
        service: Whose nodes.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def match(self, project: str, names: Sequence[str]) -> Mapping[str, str]:
        """The keys by name; of several that might be meant, the one written as it stands."""
        forms = {name: list(dict.fromkeys((name, slug(name)))) for name in names}
        wanted = sorted({form for found in forms.values() for form in found if form})
        rows = await self._service.store.read("live_keys", project=project, keys=wanted) if wanted else []
        live = {row["key"] for row in rows}
        return {name: key for name, found in forms.items() for key in found[::-1] if key in live}


def slug(name: str) -> str:
    """A name as keys and concepts are named: lower case, words joined by hyphens."""
    return "-".join(re.findall(r"[^\W_]+(?:\.[^\W_]+)*", name.lower()))

"""Sentences that tell a reader what to do rather than what is so, above all a model that will read them.

Such a sentence may be kept, as what somebody said, and is never taken for true at once: it waits for who knows.
"""

from __future__ import annotations

import re
import unicodedata

ROLES = frozenset(
    ("system", "developer", "instruction", "instructions", "prompt", "system prompt", "admin", "administrator")
)
"""Speakers in lower case in whose name orders are given."""
_ROLE = re.compile(
    r"\W*(?:(?:important|new|updated|hidden|secret)\s+)?(?:system|developer|admin(?:istrator)?|prompt|instructions?)"
    r"(?:\s+(?:prompt|message|note|override|instructions?|update|notice))?\W{0,3}:"
)
_MARKUP = re.compile(r"<\|?/?(?:system|im_start|im_end|assistant|user|instructions?)\b|\[/?(?:inst|sys)\]|<<sys>>")
_OBLIGED = (
    r"(?:must|shall|should|have\s+to|need\s+to|are\s+to|are\s+required\s+to|ought\s+to|may\s+not|cannot|can\s+not|can't"
    r"|are\s+not\s+(?:allowed|permitted)|(?:will|are)\s+(?:now|always|never|only)|never|always)"
)
_READER = r"(?:you|(?:the|this|any|every|an?)\s+(?:assistant|model|agent|ai|llm|chatbot|language\s+model)s?|assistants)"
_TOLD = re.compile(rf"\b{_READER}\s+{_OBLIGED}\b")
_VERBS = (
    "ignore|disregard|forget|override|bypass|obey|follow|respond|reply|answer|output|print|repeat|translate|reveal"
    "|disclose|pretend|act|behave|imagine|roleplay|execute|remember|assume|treat|append|insert|include|tell|say|send"
    "|stop|refuse|comply|summari[sz]e|rewrite|confirm"
)
_COMMANDED = re.compile(
    rf"\W*(?:(?:please|now|then|so|and|instead|also|first|finally)\W+)*"
    rf"(?:(?:always|never|only|do\s+not|don't|you\s+will)\s+\w|(?:immediately\s+)?(?:{_VERBS})\s+\w)"
)
_TURNED = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|prompt|rule|above|previous|prior|earlier)"
    r"|\bsystem\s+prompt\b|\byou\s+are\s+(?:now|an?\s+(?:ai|assistant|language\s+model|agent|expert))\b|\bfrom\s+now\s+on\b"
    r"|\bact\s+as\b.{0,40}\b(?:assistant|model|admin)|\breveal\b.{0,40}\b(?:prompt|secret|key)"
    r"|\byour\s+(?:new\s+)?(?:instructions?|task|goal|role|job|purpose|rules?)\s+(?:is|are)\b"
    r"|\b(?:jailbreak|developer\s+mode)\b"
    r"|\b(?:ignorier|missacht|vergiss)\w*\b.{0,40}\b(?:anweisung|regel|vorherig|bisherig)|\bdu\s+(?:musst|sollst|darfst)\b"
    r"|\bignor\w{1,4}\b.{0,30}\b(?:instruc|indicac|istruzion|consigne)|\b(?:tu\s+dois|vous\s+devez|debes|devi)\b"
    r"|(?:\u5ffd\u7565|\u65e0\u89c6|\u5fd8\u8bb0).{0,20}(?:\u6307\u4ee4|\u6307\u793a|\u63d0\u793a|\u89c4\u5219)"
    r"|[\u4f60\u60a8](?:\u5fc5\u987b|\u53ea\u80fd|\u4e0d\u80fd|\u5e94\u8be5|\u4e0d\u5f97)"
)


def gives_orders(sentence: str) -> bool:
    """Whether a sentence is addressed to a reader who is to obey it, by its form; width and case do not matter."""
    plain = unicodedata.normalize("NFKC", sentence).replace("\u2019", "'").lower()
    if _ROLE.match(plain) or _COMMANDED.match(plain) or _COMMANDED.match(plain.partition(":")[2]):
        return True
    return any(form.search(plain) for form in (_TOLD, _TURNED, _MARKUP))

"""Secrets in a text: tokens by the form that their issuer gives them, and what stands behind a name such as password.

Every form is looked for where a fixed part of it stands, so that a text without any costs little. What a form finds is
looked at once more, so that what only explains (a placeholder, a variable, a word) stays.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

Span = tuple[int, int, str]
"""Where something starts and ends in a text, and its kind."""

_KEY_CHARS_MIN = 8  # a shorter one would be no secret for long
_PHRASE_BLANKS_MAX = 11  # word lists make phrases of up to twelve words
_NAMES_BEFORE = 48  # characters before a name that may belong to its line
# By kind: the part that is looked for, and the form that begins with it.
_FORMS: Mapping[str, Sequence[tuple[str, str]]] = {
    "forge-token": (
        *((f"gh{of}_", r"[A-Za-z0-9]{30,}+") for of in "pousr"),
        ("github_pat_", r"[A-Za-z0-9_]{22,}+"),
        *((f"gl{of}-", r"[A-Za-z0-9_.-]{19,}[A-Za-z0-9_]") for of in ("pat", "dt", "rt", "cbt", "ptt", "ft", "imt")),
        *((f"gl{of}-", r"[A-Za-z0-9_.-]{19,}[A-Za-z0-9_]") for of in ("agent", "oas", "soat")),
        ("ATBB", r"[A-Za-z0-9]{24,}+"),
        ("ATATT3", r"[A-Za-z0-9_=-]{50,}+"),
        ("npm_", r"[A-Za-z0-9]{36,}+"),
        ("pypi-", r"[A-Za-z0-9_-]{50,}+"),
        ("dckr_pat_", r"[A-Za-z0-9_-]{20,}+"),
        ("rubygems_", r"[a-f0-9]{48,}+"),
    ),
    "cloud-key": (
        *((start, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for start in ("AKIA", "ASIA", "ABIA", "ACCA")),
        ("AIza", r"[A-Za-z0-9_-]{35,}+"),
        ("GOCSPX-", r"[A-Za-z0-9_-]{24,}+"),
        ("ya29.", r"[A-Za-z0-9_.-]{20,}+"),
        ("1//0", r"[A-Za-z0-9_-]{30,}+"),
        *((f"do{of}_v1_", r"[a-f0-9]{64,}+") for of in "opr"),
        ("LTAI", r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
        ("AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
        ("dapi", r"[a-f0-9]{32,}+(?:-\d)?"),
        ("hvs.", r"[A-Za-z0-9_-]{24,}+"),
        ("hvb.", r"[A-Za-z0-9_-]{24,}+"),
        ("FlyV1 fm", r"\d_[A-Za-z0-9+/=,_-]{40,}+"),
    ),
    "service-token": (
        ("sk-", r"(?:[a-z]{2,10}[0-9]{0,2}-){0,3}[A-Za-z0-9_-]{16,}+"),
        *((f"{of}k_{mode}_", r"[A-Za-z0-9]{16,}+") for of in "srp" for mode in ("live", "test")),
        ("whsec_", r"[A-Za-z0-9+/=]{24,}+"),
        *((f"xox{of}-", r"[A-Za-z0-9-]{10,}+") for of in "abeoprs"),
        ("xapp-", r"\d-[A-Z0-9]{1,20}-\d{1,20}-[a-z0-9]{20,}+"),
        ("hooks.slack.com/", r"(?:services|workflows)/[A-Za-z0-9/_-]{20,}+"),
        ("discord.com/api/webhooks/", r"\d{17,20}/[A-Za-z0-9_-]{40,}+"),
        ("hf_", r"[A-Za-z0-9]{30,}+"),
        ("SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,}+"),
        ("SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
        ("key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
        *((f"shp{of}_", r"[a-fA-F0-9]{32,}+") for of in ("at", "ca", "pa", "ss")),
        *((f"sq0{of}-", r"[A-Za-z0-9_-]{22,}+") for of in ("atp", "csp", "idp")),
        ("EAAA", r"[A-Za-z0-9_-]{56,}+"),
        ("glsa_", r"[A-Za-z0-9_]{32,}+"),
        ("glc_", r"[A-Za-z0-9+/=_]{32,}+"),
        ("lin_api_", r"[A-Za-z0-9]{32,}+"),
        ("secret_", r"[A-Za-z0-9]{40,}+"),
        ("ntn_", r"[A-Za-z0-9]{40,}+"),
        ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34,}+"),
        *((f"NR{of}-", r"[A-Za-z0-9]{19,}+") for of in ("AK", "II", "AL", "JS")),
        ("HRKU-", r"[A-Za-z0-9_-]{36,}+"),
        ("sbp_", r"[a-f0-9]{40,}+"),
        *((f"pscale_{of}_", r"[A-Za-z0-9_.-]{30,}+") for of in ("tkn", "pw", "oauth")),
        *((f"dp.{of}.", r"[A-Za-z0-9_.-]{40,}+") for of in ("st", "pt", "ct", "sa")),
        ("r8_", r"[A-Za-z0-9]{37,}+"),
        ("gsk_", r"[A-Za-z0-9]{40,}+"),
        ("pplx-", r"[A-Za-z0-9]{32,}+"),
        ("xai-", r"[A-Za-z0-9]{60,}+"),
        ("sl.", r"[A-Za-z0-9_-]{60,}+"),
        *((f"sntry{of}_", r"[A-Za-z0-9+/=_-]{40,}+") for of in "su"),
        ("AGE-SECRET-KEY-1", r"[0-9A-Z]{58,}+"),
        ("tskey-", r"[a-z]{1,20}-[A-Za-z0-9]{1,40}-[A-Za-z0-9]{20,}+"),
    ),
}
_ISSUED = tuple(
    (kind, start, re.compile(re.escape(start) + form)) for kind, forms in _FORMS.items() for start, form in forms
)
# The same where the fixed part stands within: kind, that part, how far before it the token begins, and its form.
_WITHIN = (
    ("cloud-key", "Q~", 4, re.compile(r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])")),
    ("cloud-key", ".atlasv1.", 14, re.compile(r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}+")),
    ("service-token", "-us", 32, re.compile(r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])")),
    ("service-token", ":AA", 8, re.compile(r"\d{8}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])")),
    ("service-token", ":AA", 9, re.compile(r"\d{9}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])")),
    ("service-token", ":AA", 10, re.compile(r"\d{10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])")),
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_PRIVATE_KEY = re.compile(
    r"(?:-----BEGIN (?:[A-Z0-9]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4})"
    r"(?:\\[nr]|\s)*+(?:[A-Za-z-]{3,30}: [^\n\\]{0,200}+(?:\\[nr]|\s)*+){0,8}+"
    r"[A-Za-z0-9+/=]{16,}+(?:[A-Za-z0-9+/=]|\\[nr]|\s)*+"
    r"(?:-----END (?:[A-Z0-9]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{8,}+)\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,3}")
_BEARER = re.compile(r"(?i:bearer)[ \t]+([A-Za-z0-9._~+/-]{16,}+={0,2})")
_BASIC = re.compile(r"(?i:basic)[ \t]+([A-Za-z0-9+/]{8,}+={0,2})")
_COOKIE = re.compile(r"(?i:cookie2?):[ \t]*([\w.-]{1,80}=[^\s;\"']{8,}+(?:;[ \t]*[\w.-]{1,80}=[^\s;\"']*+)*+)")
_BOT = re.compile(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])")
_PASSWORD_HASH = re.compile(
    r"\$(?:2[abxy]|5|6|y|7|apr1|1|argon2id?|argon2d|scrypt|pbkdf2-sha\d{1,3})\$[A-Za-z0-9./+=,$-]{20,}+"
)
_IN_URL = re.compile(r"://[^\s/:@\[\]<>\"']{0,256}+:([^\s/\"'<>]{1,512})@")
_SIGNED = re.compile(
    r"[?&](?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=([^&\s\"'<>]{16,}+)"
)
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "senha", "contrase")
_OF_KEYS = re.compile(
    r"(?:api|access|auth|private|secret|signing|encryption|master|account|shared|client|service)[ _.-]?$"
)
_ASSIGNED = re.compile(
    r"""(?x) [a-z\u00f1]{0,3}
    (?:\\?["'\]]){0,2} (?P<before>[ \t]{0,4}) (?P<sign>:=|=>|==?|:) (?P<after>[ \t]{0,4})
    (?: \\?"(?P<double>(?:[^"\\\n]|\\(?!")[^\n])++)\\?" | \\?'(?P<single>(?:[^'\\\n]|\\(?!')[^\n])++)\\?'
      | `(?P<tick>[^`\n]++)` | ["'`]?(?P<bare>[^\s"'`,;]{3,}+) )
    """
)
_SAID = re.compile(r"""(?ix)\w{4,10}[ ]+(?:is|was|ist|\u00e9|to)[ ]+["'`]?(?P<said>[^\s"'`,;]{4,}+)""")
_OPTION = re.compile(r"""--(?:password|passwd|pass|token|api-key|secret|auth-token)[ ]+["']?([^\s"'-][^\s"']{3,}+)""")
_USER = re.compile(r"""(?: -u|--user)[ =]["']?[^\s:"']{1,100}+:([^\s"']{3,}+)""")
_ELEMENT = re.compile(r"<(?i:password|passwd|pwd|secret|token|apikey)>([^<\s]{3,}+)</")
_QUOTED = re.compile(r"(?i:password|identified by)[ ]+'([^'\n]{3,200}+)'")
_WRITTEN = (
    ("--", _OPTION),
    (" -u", _USER),
    ("--user", _USER),
    ("<", _ELEMENT),
    ("password", _QUOTED),
    ("identified", _QUOTED),
)
_PLACEHOLDER_WORDS = """
change_me changeme change-me placeholder dummy redacted hidden masked empty none null nil undefined
true false yes no on off str string text bytes int char any bool boolean required mandatory invalid
wrong incorrect expired missing unset default prompt field input env ask file stdin keyring vault
value password passwords passwd pwd secret secrets token tokens key keys pass
"""
_PLACEHOLDERS = frozenset(_PLACEHOLDER_WORDS.split())
_PLACEHOLDER = re.compile(
    r"""(?x)
    [x*.\u2022\u2026_-]+ | .{0,60}[<{$(\[].{0,60}[>})\]] | (?:your|my|the|some|an?)[ _-].* | (?:varchar|optional).*
    | (?:self|this|os|env|process|config|settings|args|options|request|data|secrets|vars)[.\[].* | [a-z_]\w*\(.*
    | [a-z_]+(?:\.[a-z_]+)+ | [a-z_]+[_-](?:password|passwd|pwd|secret|token|key) | https?://.* | /[\w./-]*
    | \.{1,2}/.* | \d{4}-\d\d-\d\d.* | \[redacted:[a-z-]{1,40}\].{0,3}
    """
)
_MARKED = re.compile(r"<|\{|\$[\w{(]|%[\w({]|[(\[?&|+]|\*+$")  # what begins a variable or a pattern
_LINE_BEFORE = re.compile(r"(?:^|\n)[ \t-]*[\w.\" ']{0,40}$")


def secrets(text: str) -> Iterator[Span]:
    """The secrets of a text, in no order; spans may overlap."""
    low = text.lower()
    if len(low) != len(text):  # a few letters become two
        low = "".join(char.lower() if char.isascii() else char for char in text)
    yield from _issued(text)
    yield from _blocks(text)
    yield from _headers(text, low)
    yield from _passwords(text, low)
    yield from _keys(text, low)


def _matches(text: str, low: str, start: str, form: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Where a form is that begins with a fixed part; what one match takes is not looked at again."""
    at = low.find(start)
    while at >= 0:
        found = form.match(text, at)
        if found is not None:
            yield found
        at = low.find(start, at + 1 if found is None else found.end())


def _begins(text: str, at: int) -> bool:
    """Whether a token may begin there: not in the middle of a word."""
    return at == 0 or not (text[at - 1].isascii() and text[at - 1].isalnum())


def _issued(text: str) -> Iterator[Span]:
    cloud = False
    for kind, start, form in _ISSUED:
        if start not in text:
            continue
        for found in _matches(text, text, start, form):
            if not _begins(text, found.start()) or _dummy(found.group()[len(start) :]):
                continue
            cloud = cloud or start in ("AKIA", "ASIA")
            if start != "sk-" or _of_no_words(found.group()):
                yield *found.span(), kind
    for kind, part, back, form in _WITHIN:
        at = text.find(part)
        while at >= 0:
            if at >= back and _begins(text, at - back) and (found := form.match(text, at - back)):
                yield *found.span(), kind
            at = text.find(part, at + 1)
    if cloud:
        yield from ((*found.span(), "cloud-key") for found in _AWS_SECRET.finditer(text) if _mixed(found.group()))


def _dummy(tail: str) -> bool:
    return set(tail) <= set("xX*.0_-")


def _of_no_words(token: str) -> bool:
    """Whether it is a key, and not a name of several words that begins like one."""
    return re.search(r"[A-Za-z0-9]{16}|\d", token[3:]) is not None


def _blocks(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        for found in _PRIVATE_KEY.finditer(text):
            yield *found.span(), "private-key"
    if "$" in text:
        for found in _PASSWORD_HASH.finditer(text):
            yield *found.span(), "password-hash"
    for found in _matches(text, text, "://", _IN_URL):
        if not _explains(found.group(1)):
            yield *found.span(1), "url-password"
    if "ignature=" in text or "sig=" in text or "oken=" in text:
        for found in _SIGNED.finditer(text):
            yield *found.span(1), "signature"


def _headers(text: str, low: str) -> Iterator[Span]:
    if "eyJ" in text:
        for found in _JWT.finditer(text):
            if _is_header(found.group(1)):
                yield *found.span(), "jwt"
    yield from _authorizations(text, low)
    for found in _matches(text, low, "cookie", _COOKIE):
        yield *found.span(1), "cookie"
    if "discord" in low or "bot " in low:
        for found in _BOT.finditer(text):
            yield *found.span(), "service-token"


def _authorizations(text: str, low: str) -> Iterator[Span]:
    for found in _matches(text, low, "bearer", _BEARER):
        if re.fullmatch(r"[A-Za-z0-9]{16,}=*", found.group(1)) or _random(found.group(1)):
            yield *found.span(1), "bearer-token"
    for found in _matches(text, low, "basic", _BASIC):
        if b":" in _decoded(found.group(1)):
            yield *found.span(1), "basic-auth"


def _decoded(text: str) -> bytes:
    bare = text.rstrip("=")[:1_024]
    try:
        return base64.urlsafe_b64decode((bare + "=" * (-len(bare) % 4)).replace("+", "-").replace("/", "_"))
    except (ValueError, binascii.Error):
        return b""


def _is_header(text: str) -> bool:
    header = _decoded(text)
    return any(name in header for name in (b'"alg"', b'"typ"', b'"enc"'))


def _passwords(text: str, low: str) -> Iterator[Span]:
    for name in _PASSWORDS:
        if name not in low:
            continue
        for start, end, at, found in _assignments(text, low, name):
            sure = found["bare"] is None or _is_setting(found) or _alone_in_line(text, at, end)
            if _is_phrase(text[start:end], name) if sure else _like_a_password(text[start:end]):
                yield start, end, "password"
        for found in _matches(text, low, name, _SAID):
            if _like_a_password(found["said"]) and not _explains(found["said"]):
                yield *found.span("said"), "password"
    for start, form in _WRITTEN:
        for found in () if start not in low else _matches(text, low, start, form):
            if not _explains(found.group(1)):
                yield *found.span(1), "password"


def _is_phrase(value: str, name: str) -> bool:
    """Whether it may be a password by its words: more than two are one only where a phrase is asked for."""
    return value.strip().count(" ") <= (_PHRASE_BLANKS_MAX if name == "passphrase" else 1) and "assword" not in value


def _keys(text: str, low: str) -> Iterator[Span]:
    for name in ("secret", "token", "credential", "key"):
        for start, end, at, _ in _assignments(text, low, name):
            if name == "key" and not _OF_KEYS.search(low[max(0, at - 16) : at]):
                continue
            if end - start >= _KEY_CHARS_MIN and _random(text[start:end]):
                yield start, end, "secret"


def _assignments(text: str, low: str, name: str) -> Iterator[tuple[int, int, int, re.Match[str]]]:
    """Values that are given to what is called so, or ends so: where each starts and ends, and where its name starts."""
    at = low.find(name)
    while at >= 0:
        here, found = at, _ASSIGNED.match(text, at + len(name))
        at = low.find(name, at + 1 if found is None else found.end())
        if found is None:
            continue
        group = next(group for group in ("double", "single", "tick", "bare") if found[group] is not None)
        start, end = found.span(group)
        if group == "bare":
            end = start + len(found[group].rstrip(")]}>.:"))
        if end > start and not _explains(text[start:end]):
            yield start, end, here, found


def _is_setting(found: re.Match[str]) -> bool:
    """Whether it stands as in a setting or on a command line; code sets blanks, and what stands there is a variable."""
    return found["sign"] == "=" and not found["before"] and not found["after"]


def _alone_in_line(text: str, start: int, end: int) -> bool:
    first = max(0, start - _NAMES_BEFORE)
    before = ("" if first else "\n") + text[first:start]
    line_end = text.find("\n", end)
    return _LINE_BEFORE.search(before) is not None and not text[end : line_end if line_end >= 0 else None][:80].strip()


def _explains(value: str) -> bool:
    """Whether it stands in a secret's place and is none."""
    low = value[:100].lower()
    return (
        (low[0] in "<{$%([?&|+*" and _MARKED.match(low) is not None)
        or low in _PLACEHOLDERS
        or "example" in low
        or _PLACEHOLDER.fullmatch(low) is not None
    )


def _like_a_password(value: str) -> bool:
    signs = any(char in "!@#$%^&*+=" for char in value.rstrip("!?"))
    return any(map(str.isalpha, value)) and (signs or any(map(str.isdigit, value)))


def _mixed(value: str) -> bool:
    return any(map(str.isupper, value)) and any(map(str.islower, value)) and any(map(str.isdigit, value))


def _random(value: str) -> bool:
    """Whether it looks drawn by lot: letters and digits in turns, or both cases and digits."""
    bare = re.sub(r"[-_./:+=~]", "", value[:200])
    turns = sum(left.isdigit() != right.isdigit() for left, right in pairwise(bare))
    return any(map(str.isalpha, bare)) and (turns > 1 or _mixed(bare))

"""Secrets in a text: tokens by the form that their issuer gives them, passwords in addresses, and what is announced.

Every form is looked for where a fixed part of it stands, so that a text without any costs little. What a form finds is
looked at once more, so that what only explains (a placeholder, a variable, a word) stays.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence

from graph.announced_secrets import announced
from graph.password_options import on_command_lines
from graph.placeholders import drawn, explains, mixed
from graph.scanning import Seen, Span, begins

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
        ("whence_", r"[0-9a-f]{12}_[0-9a-f]{72}"),  # our own
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
_IN_URL = re.compile(r"://[^\s/:\[\]<>\"']{0,256}+:([^\s/\"'<>]{1,512})@(?!sha\d{3}:)")
# With a slash in the password, which no port is; several @ are its own where no slash is between them.
_SLASHED_IN_URL = re.compile(
    r"://[^\s/:@\[\]<>\"']{0,256}+:(?!\d{1,5}/)([^\s@\"'<>]{1,256}+(?:@[^\s/@\"'<>]{1,256}+(?=@))*+)@(?=[\w\[])(?!sha\d{3}:)"
)
_USER_IN_URL = re.compile(r"://([A-Za-z0-9_-]{20,256}+)@(?=[\w\[])")
_DSN_CHARS = 200  # before the protocol of a data source name
_SIGNED = re.compile(
    r"[?&](?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=([^&\s\"'<>]{16,}+)"
)


def secrets(seen: Seen) -> Iterator[Span]:
    """The secrets of a text, in no order; spans may overlap."""
    yield from _issued(seen)
    yield from _blocks(seen.text)
    yield from _addresses(seen.text)
    yield from _headers(seen)
    yield from announced(seen)
    yield from on_command_lines(seen)


def _issued(seen: Seen) -> Iterator[Span]:
    text, cloud = seen.text, False
    for kind, start, form in _ISSUED:
        if not seen.chars.issuperset(start):
            continue
        at = text.find(start)
        while at >= 0:
            found = form.match(text, at)
            if found is not None and begins(text, at) and not _dummy(found[0][len(start) :]):
                cloud = cloud or start in ("AKIA", "ASIA")
                if start != "sk-" or _of_no_words(found[0]):
                    yield *found.span(), kind
            at = text.find(start, at + 1 if found is None else found.end())
    for kind, part, back, form in _WITHIN:
        at = text.find(part)
        while at >= 0:
            if at >= back and begins(text, at - back) and (found := form.match(text, at - back)):
                yield *found.span(), kind
            at = text.find(part, at + 1)
    if cloud:
        yield from ((*found.span(), "cloud-key") for found in _AWS_SECRET.finditer(text) if mixed(found[0]))


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
    if "ignature=" in text or "sig=" in text or "oken=" in text:
        for found in _SIGNED.finditer(text):
            yield *found.span(1), "signature"


def _addresses(text: str) -> Iterator[Span]:
    at = text.find("://")
    while at >= 0:
        found = _IN_URL.match(text, at) or _SLASHED_IN_URL.match(text, at)
        if found is not None and not explains(found[1]):
            yield *found.span(1), "url-password"
        elif (user := _USER_IN_URL.match(text, at)) is not None and drawn(user[1]):
            yield *user.span(1), "url-password"
        at = text.find("://", at + 3 if found is None else found.end())
    for protocol in ("@tcp(", "@unix("):
        at = text.find(protocol)
        while at >= 0:
            words = text[max(0, at - _DSN_CHARS) : at].rsplit(None, 1)
            password = words[-1].partition(":")[2] if words and not text[at - 1].isspace() else ""
            if password and not explains(password):
                yield at - len(password), at, "url-password"
            at = text.find(protocol, at + 1)


def _headers(seen: Seen) -> Iterator[Span]:
    text = seen.text
    if "eyJ" in text:
        for found in _JWT.finditer(text):
            if _is_header(found.group(1)):
                yield *found.span(), "jwt"
    yield from _authorizations(seen)
    for found in seen.matches("cookie", _COOKIE):
        yield *found.span(1), "cookie"
    if seen.holds("discord") or seen.holds("bot "):
        for found in _BOT.finditer(text):
            yield *found.span(), "service-token"


def _authorizations(seen: Seen) -> Iterator[Span]:
    for found in seen.matches("bearer", _BEARER):
        if re.fullmatch(r"[A-Za-z0-9]{16,}=*", found.group(1)) or drawn(found.group(1)):
            yield *found.span(1), "bearer-token"
    for found in seen.matches("basic", _BASIC):
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

"""How this machine reaches a Maven repository, read from what its user already set for Maven, pip and uv.

We have no setting of our own for it: a second place to write a mirror would only disagree with the first. Nothing here
opens a connection, and no repository address is written in this project; without a mirror the client's default stands.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import url2pathname
from xml.etree import ElementTree as ET

PLACEHOLDER = re.compile(r"\$\{(env\.\w+|user\.home)\}")


@dataclass(frozen=True, slots=True)
class Repository:
    """Where jars come from on this machine.

    Attributes:
        url: The user's mirror, with credentials if Maven has them in the clear; None for the client's default.
        places: Folders laid out as a Maven repository that are read before the network, in this order.
        environment: Variables to set while fetching, so that the HTTP client trusts and passes what the user's does.
    """

    url: str | None = field(default=None, repr=False)  # may carry a password
    places: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def read_repository(environ: Mapping[str, str] | None = None, user_home: Path | None = None) -> Repository:
    """What the user's variables and settings files say.

    The first of these with a mirror for `central` or `*` gives it: the file named by `-s` in MAVEN_ARGS, the user's
    `settings.xml`, the one of MAVEN_HOME; then the wrapper's MVNW_REPOURL. A settings file that cannot be read counts
    as absent, since Maven's own message about it is better than any of ours.

    Args:
        environ: The variables; those of this process by default.
        user_home: Where `.m2` lies; the user's home by default.
    """
    variables = os.environ if environ is None else environ
    home = Path.home() if user_home is None else user_home
    settings = [found for path in _settings_files(variables, home) if (found := _read(path)) is not None]
    urls = [url for root in settings if (url := _mirror(root, variables, home))]
    urls += [url for url in [variables.get("MVNW_REPOURL", "").rstrip("/")] if url]
    local = [path for path in _local_repositories(settings, variables, home) if path.is_dir()]
    environment = _trust(variables) | _proxy(settings, variables)
    if urls and urlsplit(urls[0]).scheme == "file":
        return Repository(None, (*local, Path(url2pathname(urlsplit(urls[0]).path))), environment)
    return Repository(urls[0] if urls else None, tuple(local), environment)


def _settings_files(variables: Mapping[str, str], home: Path) -> Iterator[Path]:
    words = shlex.split(variables.get("MAVEN_ARGS", ""))
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word in ("-s", "--settings") and following:
            yield Path(following)
        elif word.startswith("--settings="):
            yield Path(word.partition("=")[2])
    yield home / ".m2" / "settings.xml"
    for name in ("MAVEN_HOME", "M2_HOME"):
        if variables.get(name):
            yield Path(variables[name]) / "conf" / "settings.xml"


def _read(path: Path) -> ET.Element | None:
    try:
        return ET.fromstring(path.read_bytes())  # noqa: S314  the user's own file, entities are not fetched
    except (OSError, ET.ParseError):
        return None


def _text(element: ET.Element, name: str, variables: Mapping[str, str], home: Path) -> str:
    def value(match: re.Match[str]) -> str:
        key = match[1]
        return str(home) if key == "user.home" else variables.get(key.removeprefix("env."), "")

    return PLACEHOLDER.sub(value, (element.findtext(f"{{*}}{name}") or "").strip())


def _mirror(root: ET.Element, variables: Mapping[str, str], home: Path) -> str | None:
    """The mirror that Maven would pick for `central`: one that names it alone, else the first whose pattern fits."""
    mirrors = [
        (_text(mirror, "mirrorOf", variables, home), mirror)
        for mirror in root.iterfind("{*}mirrors/{*}mirror")
        if _text(mirror, "blocked", variables, home) != "true"
    ]
    mirrors.sort(key=lambda each: each[0] != "central")  # stable: the file's order stays within both groups
    for pattern, mirror in mirrors:
        if _stands_for_central(pattern):
            url = _text(mirror, "url", variables, home).rstrip("/")
            return _with_credentials(url, root, _text(mirror, "id", variables, home), variables, home)
    return None


def _stands_for_central(pattern: str) -> bool:
    words = [word.strip() for word in pattern.split(",")]
    return "!central" not in words and not {"central", "*", "external:*"}.isdisjoint(words)


def _with_credentials(url: str, root: ET.Element, mirror: str, variables: Mapping[str, str], home: Path) -> str:
    for server in root.iterfind("{*}servers/{*}server"):
        if _text(server, "id", variables, home) != mirror:
            continue
        username, password = (
            _text(server, "username", variables, home),
            _text(server, "password", variables, home),
        )
        if username and not password.startswith("{"):  # braces: encrypted with a key that only Maven has
            parts = urlsplit(url)
            login = f"{quote(username, safe='')}:{quote(password, safe='')}@{parts.netloc}"
            return urlunsplit(parts._replace(netloc=login))
    return url


def _local_repositories(settings: list[ET.Element], variables: Mapping[str, str], home: Path) -> Iterator[Path]:
    for word in shlex.split(f"{variables.get('MAVEN_OPTS', '')} {variables.get('MAVEN_ARGS', '')}"):
        if word.startswith("-Dmaven.repo.local="):
            yield Path(word.partition("=")[2])
    if variables.get("M2_REPO"):
        yield Path(variables["M2_REPO"])
    for root in settings:
        if named := _text(root, "localRepository", variables, home):
            yield Path(named)
    yield home / ".m2" / "repository"


def _trust(variables: Mapping[str, str]) -> dict[str, str]:
    """The user's certificates under the name that the HTTP client reads; uv's and pip's names mean nothing to it."""
    if variables.get("REQUESTS_CA_BUNDLE") or variables.get("CURL_CA_BUNDLE"):
        return {}
    named = variables.get("SSL_CERT_FILE") or variables.get("PIP_CERT")
    return {"REQUESTS_CA_BUNDLE": named} if named else {}


def _proxy(settings: list[ET.Element], variables: Mapping[str, str]) -> dict[str, str]:
    if any(variables.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return {}
    if variables.get("PIP_PROXY"):
        return {"HTTPS_PROXY": variables["PIP_PROXY"]}
    for root in settings:
        for proxy in root.iterfind("{*}proxies/{*}proxy"):
            host, port = proxy.findtext("{*}host"), proxy.findtext("{*}port") or "8080"
            if host and (proxy.findtext("{*}active") or "true").strip() == "true":
                address = f"http://{host.strip()}:{port.strip()}"
                direct = (proxy.findtext("{*}nonProxyHosts") or "").replace("*", "").replace("|", ",").strip()
                return {"HTTPS_PROXY": address, "HTTP_PROXY": address} | ({"NO_PROXY": direct} if direct else {})
    return {}

"""What the options of a command say: which take the next word, and with which a tool verifies nothing.

A tool that only asks or lists (``--help``, ``--dry-run``, ``--collect-only``), or that exits 0 whatever it finds
(``--exit-zero``), says nothing by its exit code; so does one to which a variable gives such an option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from graph.shell import Words


def word_set(words: str) -> frozenset[str]:
    """The words of a table's line."""
    return frozenset(words.split())


# Options before the subcommand that take the next word.
VALUES: Mapping[str, frozenset[str]] = {
    "go": word_set("-C"),
    "cargo": word_set("-C -Z --config --color --manifest-path --target-dir"),
    "npm": word_set("--prefix -w --workspace -C"),
    "pnpm": word_set("--filter -F --dir -C"),
    "yarn": word_set("--cwd workspace"),
    "bun": word_set("--cwd --filter"),
    "make": word_set("-C -f -I -o -W -j -l"),
    "gmake": word_set("-C -f -I -o -W -j -l"),
    "just": word_set("-f --justfile -d --working-directory"),
    "task": word_set("-t --taskfile -d --dir"),
    "rake": word_set("-f -C"),
    "mvn": word_set("-f --file -pl -P -s -T"),
    "gradle": word_set("-p --project-dir -b -c -I -x"),
    "ruff": word_set("--config"),
    "golangci-lint": word_set("--color -c --config"),
    "docker": word_set("--context -H --host --log-level"),
    "manage.py": word_set("--settings"),
    "uv": word_set("--directory --project"),
    "poetry": word_set("-C --directory -P --project"),
    "python": word_set("-W -X"),
    "node": word_set("-r --require --import --loader --env-file --max-old-space-size"),
    "pwsh": word_set("-ExecutionPolicy"),
    "hatch": word_set("-e --env"),
    "tox": word_set("-e -c -f -m"),
    "nox": word_set("-s -e -f -k -t -p"),
    "ctest": word_set("-R -E -L -C -j"),
    "pytest": word_set("-k -m -p -c -o -W -n -r"),
}
# Options by which a tool only asks or lists, or exits 0 whatever it finds, in whichever tool they are.
_HIDING = (
    word_set(
        "--help -h -help --version -version --dry-run --dry --just-print --recon --question --touch --ignore-errors"
    )
    | word_set("--collect-only --co --fixtures --fixtures-per-test --markers --setup-plan --setup-only --cache-show")
    | word_set("--list --listTests --listenvs --notest --install-only --show-files --show-settings --show-bin-path")
    | word_set(
        "--show-only --show-config --showConfig --show-cops --print-config --print-labels --init --rules --graph"
    )
    | word_set("--exit-zero --issues-exit-code --no-fail --soft-fail --warn-only --fail-never --fix-only --fail-under")
    | word_set("--fail-level --auto-gen-config --generate-rcfile --add-noqa --runtime-set --config-set --if-present")
    | word_set("--no-bail --raw-command --nobuild --noanalyze --run_under --clean --clearCache --createstub --explain")
    | word_set("--tasks --prereqs --describe --where --evaluate --summary --dump --show --choose --command --status")
    | word_set("--print --build-plan --unit-graph --stats --eval --old-file --assume-old --projecthelp")
    | word_set("--build=false --build=no --build=0")
)
_MAKE = "-n -q -t -i -v -o -E"
_GO = "-n -V -list -test.list -exec -toolexec -vettool"
_COMPILER = "-v -E -M -MM -### -dumpversion -dumpmachine -dumpspecs -print-search-dirs"
_HIDING_OF: Mapping[str, frozenset[str]] = {
    "make": word_set(_MAKE),
    "gmake": word_set(_MAKE),
    "ninja": word_set("-n -t"),
    "cmake": word_set("-n -q -t -i"),
    "just": word_set("-n -l -s -e -c -V"),
    "task": word_set("-n -l -a -i"),
    "mage": word_set("-l -init -clean -compile"),
    "rake": word_set("-n -P -T -D -W"),
    "invoke": word_set("-l -R -w -V"),
    "inv": word_set("-l -R -w -V"),
    "poe": word_set("-d"),
    "ant": word_set("-p -projecthelp -diagnostics"),
    "gradle": word_set("-m -v -? -t"),
    "mvn": word_set("-v -fn"),
    "go": word_set(_GO),
    "gotestsum": word_set(_GO),
    "govulncheck": word_set("-json -format -mode"),
    "staticcheck": word_set("-fail -explain -list-checks -debug.version"),
    "cargo": word_set("-V"),
    "rustc": word_set("-V -vV"),
    "gcc": word_set(_COMPILER),
    "g++": word_set(_COMPILER),
    "cc": word_set(_COMPILER),
    "c++": word_set(_COMPILER),
    "clang": word_set(_COMPILER),
    "clang++": word_set(_COMPILER),
    "tsc": word_set("-v"),
    "vue-tsc": word_set("-v"),
    "eslint": word_set("-v"),
    "jest": word_set("-v"),
    "vitest": word_set("-v"),
    "mocha": word_set("-V"),
    "pytest": word_set("-V"),
    "mypy": word_set("-V"),
    "ruff": word_set("-V -e"),
    "tox": word_set("-l -a -n"),
    "nox": word_set("-l"),
    "ctest": word_set("-N"),
    "rubocop": word_set("-L -v -V"),
    "phpcs": word_set("-i -e"),
    "ansible-lint": word_set("-L -T"),
    "shellcheck": word_set("-V"),
    "dotnet": word_set("-t"),
    "xcodebuild": word_set("-n -list -dry-run -showBuildSettings"),
    "swift": word_set("-l"),
    "zig": word_set("-l"),
    "forge": word_set("-l"),
    "cabal": word_set("-n"),
    "hatch": word_set("-s"),
}
# Those that take `--quest` for `--question`.
_ABBREVIATING = word_set("make gmake pytest py.test flake8 pylint mypy tox nox bandit rake")
# Those whose long options begin with one dash, so that letters do not stand together.
_LONG_BY_ONE_DASH = word_set(
    "go gotestsum mage govulncheck staticcheck mvn ant xcodebuild gcc g++ cc c++ clang clang++ tsc vue-tsc dotnet swift"
    " zig rustc"
)
_SKIPPING = re.compile(r"-[DP].*([Ii]gnore|[Ss]kip(?!ITs\b)).*")  # a property of mvn's or gradle's
# Variables whose values are options, and the tool that reads those whose own forms matter.
_OF_OPTIONS = re.compile(r"[\w-]*(FLAGS|OPTS|OPTIONS|ARGS?)", re.IGNORECASE)
_READ_BY: Mapping[str, str] = {
    "MAKEFLAGS": "make",
    "GNUMAKEFLAGS": "make",
    "MFLAGS": "make",
    "GOFLAGS": "go",
    "PYTEST_ADDOPTS": "pytest",
    "MAVEN_OPTS": "mvn",
    "MAVEN_ARGS": "mvn",
    "GRADLE_OPTS": "gradle",
}
# Variables by which something else is run, or less.
_DISARMING = re.compile(
    r"SHELL|\.SHELLFLAGS|SHELLOPTS|BASHOPTS|BASH_ENV|LD_PRELOAD|SKIP|TOX_SKIP_ENV|npm_config_.*", re.IGNORECASE
)
# First words by which a tool that otherwise verifies only asks.
_ASKS_BY_WORD: Mapping[str, frozenset[str]] = {
    "vitest": word_set("list init"),
    "tox": word_set("list l config c devenv d quickstart q schema depends de"),
    "mocha": word_set("init"),
    "webpack": word_set("help h info i version v init c configtest t serve server s watch w"),
}


def asks_by_word(tool: str, plain: Words) -> bool:
    """Whether a tool's words behind its options make it ask only."""
    if tool == "cargo" and plain[:1] == ["nextest"]:
        return plain[1:2] != ["run"]
    return not _ASKS_BY_WORD.get(tool, frozenset()).isdisjoint(plain[:1])


def hides(tool: str, word: str) -> bool:
    """Whether with this word a tool only asks or lists, or exits 0 whatever it finds."""
    long = word.startswith("--") or tool in _LONG_BY_ONE_DASH
    return _SKIPPING.fullmatch(word) is not None or (_hides_by_name if long else _hides_by_letter)(tool, word)


def _hides_by_name(tool: str, word: str) -> bool:
    option = word.partition("=")[0]
    hiding = _HIDING | _HIDING_OF.get(tool, frozenset())
    return (
        option in hiding
        or word in hiding
        or (option.startswith("--list") and option != "--list-different")
        or (tool in _LONG_BY_ONE_DASH and option[1:] in hiding)
        or (tool in _ABBREVIATING and option != "--" and any(name.startswith(option) for name in hiding))
    )


def _hides_by_letter(tool: str, word: str) -> bool:
    hiding, values = _HIDING_OF.get(tool, frozenset()), VALUES.get(tool, frozenset())
    if word.partition("=")[0] in _HIDING | hiding:
        return True
    for letter in word[1:] if word.startswith("-") else "":
        if f"-{letter}" in hiding:
            return True
        if f"-{letter}" in values or letter in "DP=:":  # takes the rest as its value
            return False
    return False


def disarms(word: str) -> bool:
    """Whether a word sets a variable that has a tool do something else, or that may; an option may set one too."""
    name, _, value = word.partition("=")
    return _sets(name.rstrip("+:?"), value) or (name.startswith("-") and _sets(*value.partition("=")[::2]))


def _sets(name: str, value: str) -> bool:
    if _DISARMING.fullmatch(name):
        return value != ""
    if _OF_OPTIONS.fullmatch(name) is None:
        return False
    options = value.strip("'\"").split()
    reader = _READ_BY.get(name, "")
    if name.endswith("MAKEFLAGS") and options and not options[0].startswith("-") and "=" not in options[0]:
        options[0] = f"-{options[0]}"  # make adds the dash itself
    expanded = not name.startswith("-") and ("$" in value or "`" in value)
    return expanded or any(hides(reader, option) for option in options)


def plain_words(words: Words, values: frozenset[str]) -> list[str]:
    """The words that are neither options nor their values; cargo's ``+toolchain`` is an option."""
    plain: list[str] = []
    taken = False
    for at, word in enumerate(words):
        option = word.startswith(("-", "+")) or word in values
        if not option and not taken:
            plain.append(word)
        following = words[at + 1] if at + 1 < len(words) else ""
        # Of `-j`, which may stand alone, only a number is the value.
        taken = word in values and not taken and (word not in ("-j", "-l") or following.isdecimal())
    return plain


def behind_options(words: Words, values: frozenset[str]) -> list[str]:
    """From the first word on that is neither an option nor an option's value."""
    rest = list(words)
    while rest:
        if rest[0] == "--":
            return rest[1:]
        if not rest[0].startswith(("-", "+")) and rest[0] not in values:
            return rest
        rest = rest[2 if rest[0] in values else 1 :]
    return rest


def behind_known_options(words: Words, values: frozenset[str], flags: frozenset[str]) -> list[str]:
    """As ``behind_options``; nothing where another option than these stands."""
    rest = list(words)
    while rest:
        word = rest[0]
        if word == "--":
            return rest[1:]
        if word in values:
            rest = rest[2:]
        elif not word.startswith(("-", "+")):
            return rest
        elif word in flags or flags.issuperset(f"-{letter}" for letter in word[1:]) or _with_value(word, values):
            rest = rest[1:]
        else:
            return []
    return []


def _with_value(word: str, values: frozenset[str]) -> bool:
    """Whether an option stands in one word with its value: ``--signal=KILL``, ``-k5``."""
    return word.partition("=")[0] in values or (not word.startswith("--") and word[:2] in values)

"""Which commands verify or build: tests, vets, lints, checks, builds and compilations, by tables of tools.

A command that only asks (``--help``, ``--dry-run``) verifies nothing, and neither does the shell's own ``test``. A
name that a project gave (``npm run lint:css``, ``make unit-tests``, ``./scripts/check.sh``) says what it does by its
first or its last part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from graph.shell import Words, proves

_STEPS_MAX = 20  # wrappers around a command, one in the other


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VERBS = _set("test tests vet lint check checks build tsc typecheck compile verify")
_ONLY_ASKS = _set("--help -h --version --dry-run --just-print --collect-only --co")
_ONLY_ASKS_OF: Mapping[str, frozenset[str]] = {
    "make": _set("-n"),
    "gmake": _set("-n"),
    "ninja": _set("-n"),
    "just": _set("-n"),
    "task": _set("-n"),
    "rake": _set("-n -P -T"),
    "gradle": _set("-m"),
    "tsc": _set("-v --init --showConfig"),
    "eslint": _set("-v --init --print-config"),
    "pytest": _set("-V --fixtures --markers"),
}

# Tools that do nothing else, however they are called.
_ALONE = _set(
    "tsc vue-tsc svelte-check eslint oxlint jshint stylelint markdownlint markdownlint-cli2 jest vitest mocha ava "
    "karma webpack rollup esbuild pytest py.test nosetests nose2 unittest tox nox mypy pyright basedpyright flake8 "
    "pylint pycodestyle pydocstyle bandit py_compile compileall golint staticcheck gotestsum govulncheck errcheck "
    "revive shellcheck hadolint yamllint actionlint ansible-lint tflint cppcheck clang-tidy ctest ninja rspec rubocop "
    "phpunit phpstan psalm phpcs pest ktlint detekt checkstyle hlint credo buf-lint import-linter javac rustc "
    "lint-imports kotlinc scalac ghc msbuild gcc g++ cc c++ clang clang++ vet lint check build"
)
# Tools whose first word after their own options says what they do.
_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "go": _set("test vet build"),
    "cargo": _set("test check clippy build nextest t c b"),
    "cross": _set("test check clippy build"),
    "wasm-pack": _set("test build"),
    "rustup": _set("check"),
    "golangci-lint": _set("run"),
    "buf": _set("lint build"),
    "ruff": _set("check"),
    "ty": _set("check"),
    "uv": _set("build"),
    "poetry": _set("build check"),
    "hatch": _set("test build check"),
    "pdm": _set("build test"),
    "flit": _set("build"),
    "maturin": _set("build develop"),
    "pip": _set("check"),
    "pre-commit": _set("run"),
    "setup.py": _set("build test check sdist bdist_wheel build_ext"),
    "manage.py": _set("test check"),
    "npm": _set("test t tst"),
    "deno": _set("test lint check compile"),
    "bun": _set("test build"),
    "biome": _set("check lint ci"),
    "vite": _set("build"),
    "next": _set("build lint"),
    "nuxt": _set("build typecheck"),
    "astro": _set("build check"),
    "ng": _set("build test lint e2e"),
    "react-scripts": _set("test build"),
    "vue-cli-service": _set("build lint"),
    "playwright": _set("test"),
    "cypress": _set("run"),
    "mvn": _set("test verify compile package test-compile integration-test install"),
    "sbt": _set("test compile"),
    "lein": _set("test check compile uberjar"),
    "dotnet": _set("test build"),
    "swift": _set("test build"),
    "xcodebuild": _set("test build build-for-testing analyze"),
    "flutter": _set("test build analyze"),
    "dart": _set("test analyze compile"),
    "mix": _set("test compile credo dialyzer"),
    "rebar3": _set("eunit ct compile dialyzer"),
    "stack": _set("test build"),
    "cabal": _set("test build check"),
    "zig": _set("test build"),
    "nim": _set("check compile c"),
    "gleam": _set("test check build"),
    "crystal": _set("spec build"),
    "elm": _set("make"),
    "dune": _set("test build runtest"),
    "meson": _set("test compile"),
    "bazel": _set("test build"),
    "bazelisk": _set("test build"),
    "buck2": _set("test build"),
    "pants": _set("test lint check package"),
    "rails": _set("test spec"),
    "artisan": _set("test"),
    "composer": _set("test validate"),
    "docker": _set("build"),
    "podman": _set("build"),
    "terraform": _set("validate"),
    "tofu": _set("validate"),
    "helm": _set("lint"),
    "forge": _set("test build"),
    "hardhat": _set("test compile"),
    "nix": _set("build"),
}
# Tools that change what they are given, unless an option has them check it.
_WITH_OPTION: Mapping[str, frozenset[str]] = {
    "black": _set("--check"),
    "isort": _set("--check --check-only -c"),
    "prettier": _set("--check -c --list-different -l"),
    "rustfmt": _set("--check"),
    "ruff": _set("--check"),
    "cargo": _set("--check"),
    "terraform": _set("-check"),
    "dart": _set("--set-exit-if-changed"),
    "cmake": _set("--build"),
    "node": _set("--test"),
    "clang-format": _set("--Werror -Werror"),
}
_FORMATS = _set("ruff cargo terraform dart")  # which have their option for this subcommand alone
# Runners of what a project names itself, with the names that mean a build or a verification to the tool.
_TASKS: Mapping[str, frozenset[str]] = {
    "make": _set("all"),
    "gmake": _set("all"),
    "just": _set(""),
    "task": _set(""),
    "mage": _set(""),
    "rake": _set("spec"),
    "invoke": _set(""),
    "inv": _set(""),
    "poe": _set(""),
    "gradle": _set("assemble"),
    "ant": _set("jar"),
    "nx": _set(""),
    "turbo": _set(""),
    "lerna": _set(""),
    "moon": _set(""),
    "wireit": _set(""),
}
_BUILDS_BY_DEFAULT = _set("make gmake")
_SCRIPT_RUNNERS: Mapping[str, frozenset[str]] = {
    "npm": _set("run run-script"),
    "pnpm": _set("run run-script"),
    "yarn": _set("run"),
    "bun": _set("run"),
    "deno": _set("task"),
    "composer": _set("run run-script"),
    "pdm": _set("run"),
    "hatch": _set("run"),
    "pipenv": _set("run"),
    "rye": _set("run"),
    "pixi": _set("run"),
    "turbo": _set("run"),
    "lerna": _set("run"),
}
_SCRIPTS_WITHOUT_RUN = _set("pnpm yarn")
# Options before the subcommand that take the next word.
_VALUES: Mapping[str, frozenset[str]] = {
    "go": _set("-C"),
    "cargo": _set("-C -Z --config --color --manifest-path --target-dir"),
    "npm": _set("--prefix -w --workspace -C"),
    "pnpm": _set("--filter -F --dir -C"),
    "yarn": _set("--cwd workspace"),
    "bun": _set("--cwd --filter"),
    "make": _set("-C -f -I -o -W -j -l"),
    "gmake": _set("-C -f -I -o -W -j -l"),
    "just": _set("-f --justfile -d --working-directory"),
    "task": _set("-t --taskfile -d --dir"),
    "rake": _set("-f -C"),
    "mvn": _set("-f --file -pl -P -s -T"),
    "gradle": _set("-p --project-dir -b -c -I -x"),
    "ruff": _set("--config"),
    "golangci-lint": _set("--color -c --config"),
    "docker": _set("--context -H --host --log-level"),
    "manage.py": _set("--settings"),
    "uv": _set("--directory --project"),
    "poetry": _set("-C --directory -P --project"),
    "python": _set("-W -X"),
    "node": _set("-r --require --import --loader --env-file"),
    "pwsh": _set("-ExecutionPolicy"),
    "hatch": _set("-e --env"),
}
_INTERPRETERS = _set("python node bash sh zsh dash ksh ruby perl php pwsh Rscript")


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """What runs another command: its options that take the next word, and the words between them and the command."""

    values: frozenset[str] = frozenset()
    skipped: int = 0


_WRAPPERS: Mapping[tuple[str, ...], _Wrapper] = {
    ("uv", "run"): _Wrapper(
        _set("--with --with-editable --with-requirements -p --python --extra --group --only-group --no-group")
        | _set("--directory --project --package --env-file --index --index-url")
    ),
    ("uv", "tool", "run"): _Wrapper(_set("--from --with -p --python")),
    ("uvx",): _Wrapper(_set("--from --with -p --python")),
    ("pipx", "run"): _Wrapper(_set("--spec --python")),
    ("poetry", "run"): _Wrapper(),
    ("pipenv", "run"): _Wrapper(),
    ("pdm", "run"): _Wrapper(_set("-p --project")),
    ("rye", "run"): _Wrapper(),
    ("hatch", "run"): _Wrapper(),
    ("pixi", "run"): _Wrapper(_set("-e --environment --manifest-path")),
    ("conda", "run"): _Wrapper(_set("-n --name -p --prefix --cwd")),
    ("mamba", "run"): _Wrapper(_set("-n --name -p --prefix --cwd")),
    ("micromamba", "run"): _Wrapper(_set("-n --name -p --prefix --cwd")),
    ("coverage", "run"): _Wrapper(_set("--source --rcfile --include --omit --concurrency --data-file")),
    ("npx",): _Wrapper(_set("-p --package")),
    ("npm", "exec"): _Wrapper(_set("-p --package -w --workspace")),
    ("pnpm", "exec"): _Wrapper(),
    ("pnpm", "dlx"): _Wrapper(_set("--package")),
    ("yarn", "exec"): _Wrapper(),
    ("yarn", "dlx"): _Wrapper(_set("-p --package")),
    ("bunx",): _Wrapper(_set("-p --package")),
    ("bun", "x"): _Wrapper(),
    ("bundle", "exec"): _Wrapper(),
    ("go", "tool"): _Wrapper(),
    ("rustup", "run"): _Wrapper(skipped=1),
    ("mise", "exec"): _Wrapper(),
    ("direnv", "exec"): _Wrapper(skipped=1),
    ("docker", "buildx"): _Wrapper(),
    ("docker", "compose"): _Wrapper(_set("-f --file -p --project-name --profile --env-file")),
    ("env",): _Wrapper(_set("-u --unset -C --chdir")),
    ("cross-env",): _Wrapper(),
    ("dotenv",): _Wrapper(_set("-f --file -e")),
    ("time",): _Wrapper(_set("-f -o")),
    ("timeout",): _Wrapper(_set("-k --kill-after -s --signal"), 1),
    ("nice",): _Wrapper(_set("-n --adjustment")),
    ("ionice",): _Wrapper(_set("-c -n")),
    ("stdbuf",): _Wrapper(_set("-i -o -e")),
    ("xvfb-run",): _Wrapper(_set("-n -s -e -f -w")),
    ("flock",): _Wrapper(_set("-w --timeout -E"), 1),
    ("sudo",): _Wrapper(_set("-u -g -C -D -h -p")),
    ("doas",): _Wrapper(_set("-u")),
    **{(name,): _Wrapper() for name in ("nohup", "setsid", "command", "exec", "chronic", "unbuffer", "winpty")},
}


def verifies(line: str) -> bool:
    """Whether a shell line that exited 0 has verified or built something.

    Args:
        line: The command as it was run: variables set for it, chains, pipes and wrappers among it.
    """
    return proves(line, lambda words: _verifies(words, 0))


def _verifies(words: Words, steps: int) -> bool:
    if not words or steps > _STEPS_MAX:
        return False
    tool, args = _tool(words[0]), words[1:]
    for length in (3, 2, 1):
        wrapper = _WRAPPERS.get((tool, *_plain(args, _VALUES.get(tool, frozenset()))[: length - 1]))
        if wrapper is not None:
            return _verifies_wrapped(tool, wrapper, args, length - 1, steps)
    own = args[: args.index("--")] if "--" in args else args
    if not (_ONLY_ASKS | _ONLY_ASKS_OF.get(tool, frozenset())).isdisjoint(own):
        return False
    if _by_table(tool, words[0], own, steps):
        return True
    return tool in _INTERPRETERS and _verifies(_interpreted(tool, args), steps + 1)


def _verifies_wrapped(tool: str, wrapper: _Wrapper, args: Words, subcommands: int, steps: int) -> bool:
    rest = list(args)
    for _ in range(subcommands):
        rest = _behind_options(rest, _VALUES.get(tool, frozenset()))[1:]
    module = next((rest[at + 1 :] for at, word in enumerate(rest) if word in ("-m", "--module")), None)
    rest = _behind_options(rest, wrapper.values)
    while rest and re.match(r"[A-Za-z_]\w*=", rest[0]):
        rest = rest[1:]
    inner = rest[wrapper.skipped :]
    named_by_project = subcommands == 1 and tool in _SCRIPT_RUNNERS and bool(inner) and _says_so(inner[0])
    if tool in ("uv", "coverage", "pdm") and module is not None:
        inner = module
    return named_by_project or _verifies(inner, steps + 1)


def _by_table(tool: str, written: str, args: Words, steps: int) -> bool:
    plain = _plain(args, _VALUES.get(tool, frozenset()))
    first = plain[0] if plain else ""
    if tool in _ALONE or first in _SUBCOMMANDS.get(tool, ()) or _by_option(tool, first, args):
        return True
    if tool in _TASKS and first not in _SCRIPT_RUNNERS.get(tool, ()):
        return _by_targets(tool, plain)
    if first in _SCRIPT_RUNNERS.get(tool, ()):
        return len(plain) > 1 and (_says_so(plain[1]) or _verifies(plain[1:], steps + 1))
    if tool in _SCRIPTS_WITHOUT_RUN:
        return _says_so(first) or _verifies(_behind_options(args, _VALUES[tool]), steps + 1)
    if tool == "test":  # the shell's own fails without an expression, so what exited 0 without one is another
        return "/" in written or not args
    own_script = "/" in written or re.search(r"\.(sh|py|js|ts|mjs|rb|pl|ps1|bat|cmd)$", written) is not None
    return own_script and _says_so(tool)


def _by_option(tool: str, first: str, args: Words) -> bool:
    if _WITH_OPTION.get(tool, frozenset()).isdisjoint(args):
        return False
    return tool not in _FORMATS or first in ("format", "fmt")


def _by_targets(tool: str, plain: list[str]) -> bool:
    targets = [word for word in plain if "=" not in word]
    if tool == "gradle":  # :project:task
        targets = [target.rpartition(":")[2] for target in targets]
    if not targets:
        return tool in _BUILDS_BY_DEFAULT
    return any(target in _TASKS[tool] or _says_so(target) for target in targets)


def _tool(word: str) -> str:
    """A command's name without its folder, its version and what its platform or its project's wrapper adds."""
    name = re.sub(r"(?<=.)@[\w.^~-]+$", "", re.split(r"[/\\]", word)[-1])
    name = re.sub(r"\.(exe|cmd|bat)$", "", name)
    if re.fullmatch(r"(python|pypy)[\d.]*|py", name):
        return "python"
    return {"gradlew": "gradle", "mvnw": "mvn", "pip3": "pip", "nodejs": "node"}.get(name, name)


def _plain(words: Words, values: frozenset[str]) -> list[str]:
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


def _behind_options(words: Words, values: frozenset[str]) -> list[str]:
    """From the first word on that is neither an option nor an option's value."""
    rest = list(words)
    while rest:
        if rest[0] == "--":
            return rest[1:]
        if not rest[0].startswith(("-", "+")) and rest[0] not in values:
            return rest
        rest = rest[2 if rest[0] in values else 1 :]
    return rest


def _interpreted(tool: str, args: Words) -> list[str]:
    """The module or file that an interpreter is asked to run, and its arguments."""
    if tool == "python":
        for at, word in enumerate(args):
            if word == "-m":
                return list(args[at + 1 :])
            if word == "-c" or not word.startswith("-"):
                break
    if {"-c", "-e", "--eval"} & set(args[:1]):
        return []
    rest = _behind_options(args, _VALUES.get(tool, frozenset()))
    return [f"./{rest[0]}", *rest[1:]] if rest else []


def _says_so(name: str) -> bool:
    """Whether a name that a project gave says, by its first or its last part, that it verifies or builds."""
    stem = re.sub(r"\.[a-z0-9]{1,4}$", "", name.rpartition("/")[2])
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", stem)
    if not parts:
        return False
    return not _VERBS.isdisjoint({parts[0].lower(), parts[-1].lower()}) or "".join(parts[-2:]).lower() == "typecheck"

"""Which commands verify or build: tests, vets, lints, checks, builds and compilations, by tables of tools.

A command that only asks (``--help``, ``--dry-run``) verifies nothing, and neither does the shell's own ``test``. A
name that a project gave (``npm run lint:css``, ``make unit-tests``, ``./scripts/check.sh``) says what it does by its
first or its last part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from graph.command_options import (
    VALUES,
    asks_by_word,
    behind_known_options,
    behind_options,
    disarms,
    hides,
    plain_words,
    word_set,
)
from graph.shell import Words, proves

_STEPS_MAX = 20  # wrappers around a command, one in the other
_VERBS = word_set("test tests vet lint check checks build tsc typecheck compile verify")
# Tools that do nothing else, however they are called.
_ALONE = word_set(
    "tsc vue-tsc svelte-check eslint oxlint jshint stylelint markdownlint markdownlint-cli2 jest vitest mocha ava "
    "karma webpack rollup esbuild pytest py.test nosetests nose2 unittest tox nox mypy pyright basedpyright flake8 "
    "pylint pycodestyle pydocstyle bandit py_compile compileall staticcheck gotestsum govulncheck errcheck "
    "shellcheck hadolint yamllint actionlint ansible-lint tflint clang-tidy ctest ninja rspec rubocop "
    "phpunit psalm phpcs pest ktlint detekt checkstyle hlint credo buf-lint import-linter javac rustc "
    "lint-imports kotlinc scalac ghc msbuild gcc g++ cc c++ clang clang++ vet lint check build"
)
# Tools whose first word after their own options says what they do.
_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "go": word_set("test vet build"),
    "cargo": word_set("test check clippy build nextest t c b"),
    "cross": word_set("test check clippy build"),
    "wasm-pack": word_set("test build"),
    "golangci-lint": word_set("run"),
    "buf": word_set("lint build"),
    "ruff": word_set("check"),
    "ty": word_set("check"),
    "uv": word_set("build"),
    "poetry": word_set("build check"),
    "hatch": word_set("test build check"),
    "pdm": word_set("build test"),
    "flit": word_set("build"),
    "maturin": word_set("build develop"),
    "pip": word_set("check"),
    "pre-commit": word_set("run"),
    "setup.py": word_set("build test check sdist bdist_wheel build_ext"),
    "manage.py": word_set("test check"),
    "npm": word_set("test t tst"),
    "deno": word_set("test lint check compile"),
    "bun": word_set("test build"),
    "biome": word_set("check lint ci"),
    "vite": word_set("build"),
    "next": word_set("build lint"),
    "nuxt": word_set("build typecheck"),
    "astro": word_set("build check"),
    "ng": word_set("build test lint e2e"),
    "react-scripts": word_set("test build"),
    "vue-cli-service": word_set("build lint"),
    "playwright": word_set("test"),
    "cypress": word_set("run"),
    "mvn": word_set("test verify compile package test-compile integration-test install"),
    "sbt": word_set("test compile"),
    "lein": word_set("test check compile uberjar"),
    "dotnet": word_set("test build"),
    "swift": word_set("test build"),
    "xcodebuild": word_set("test build build-for-testing analyze"),
    "flutter": word_set("test build analyze"),
    "dart": word_set("test analyze compile"),
    "mix": word_set("test compile credo dialyzer"),
    "rebar3": word_set("eunit ct compile dialyzer"),
    "stack": word_set("test build"),
    "cabal": word_set("test build check"),
    "zig": word_set("test build"),
    "nim": word_set("check compile c"),
    "gleam": word_set("test check build"),
    "crystal": word_set("spec build"),
    "elm": word_set("make"),
    "dune": word_set("test build runtest"),
    "meson": word_set("test compile"),
    "bazel": word_set("test build"),
    "bazelisk": word_set("test build"),
    "buck2": word_set("test build"),
    "pants": word_set("test lint check package"),
    "rails": word_set("test spec"),
    "artisan": word_set("test"),
    "phpstan": word_set("analyse analyze"),
    "composer": word_set("test validate"),
    "docker": word_set("build"),
    "podman": word_set("build"),
    "terraform": word_set("validate"),
    "tofu": word_set("validate"),
    "helm": word_set("lint"),
    "forge": word_set("test build"),
    "hardhat": word_set("test compile"),
    "nix": word_set("build"),
}
# Tools that change what they are given, or exit 0 whatever they find, unless an option has them check it.
_WITH_OPTION: Mapping[str, frozenset[str]] = {
    "black": word_set("--check"),
    "isort": word_set("--check --check-only -c"),
    "prettier": word_set("--check -c --list-different -l"),
    "rustfmt": word_set("--check"),
    "ruff": word_set("--check"),
    "cargo": word_set("--check"),
    "terraform": word_set("-check"),
    "dart": word_set("--set-exit-if-changed"),
    "cmake": word_set("--build"),
    "node": word_set("--test"),
    "clang-format": word_set("--Werror -Werror"),
    "golint": word_set("-set_exit_status"),
    "revive": word_set("-set_exit_status"),
    "cppcheck": word_set("--error-exitcode=1 --error-exitcode=2"),
}
_FORMATS = word_set("ruff cargo terraform dart")  # which have their option for this subcommand alone
# Runners of what a project names itself, with the names that mean a build or a verification to the tool.
_TASKS: Mapping[str, frozenset[str]] = {
    "make": word_set("all"),
    "gmake": word_set("all"),
    "just": word_set(""),
    "task": word_set(""),
    "mage": word_set(""),
    "rake": word_set("spec"),
    "invoke": word_set(""),
    "inv": word_set(""),
    "poe": word_set(""),
    "gradle": word_set("assemble"),
    "ant": word_set("jar"),
    "nx": word_set(""),
    "turbo": word_set(""),
    "lerna": word_set(""),
    "moon": word_set(""),
    "wireit": word_set(""),
}
_BUILDS_BY_DEFAULT = word_set("make gmake")
_SCRIPT_RUNNERS: Mapping[str, frozenset[str]] = {
    "npm": word_set("run run-script"),
    "pnpm": word_set("run run-script"),
    "yarn": word_set("run"),
    "bun": word_set("run"),
    "deno": word_set("task"),
    "composer": word_set("run run-script"),
    "pdm": word_set("run"),
    "hatch": word_set("run"),
    "pipenv": word_set("run"),
    "rye": word_set("run"),
    "pixi": word_set("run"),
    "turbo": word_set("run"),
    "lerna": word_set("run"),
}
_SCRIPTS_WITHOUT_RUN = word_set("pnpm yarn")
# The options of an interpreter with which it still runs what it is given; of a shell these are also read by `shell`.
_RUNNING: Mapping[str, frozenset[str]] = {
    "python": word_set("-u -B -s -S -E -I -O -OO -q -b -bb -v -P"),
    "node": word_set("--no-warnings --enable-source-maps --trace-warnings --expose-gc --experimental-vm-modules"),
    **{name: word_set("-e -u -x -l") for name in ("bash", "sh", "zsh", "dash", "ksh")},
    **{name: frozenset[str]() for name in ("ruby", "perl", "php", "Rscript")},
    "pwsh": word_set("-File -NoProfile -NonInteractive"),
}


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """What runs another command.

    With another option than these it is not known to run it, and to tell how that ended.

    Attributes:
        values: Its options that take the next word.
        flags: Its options that stand alone.
        skipped: The words between its options and the command.
    """

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    skipped: int = 0


_UV = word_set(
    "-q --quiet -v --verbose --offline --no-cache -n --isolated --no-project --no-config --refresh --native-tls"
)
_UV_RUN = (
    _UV
    | word_set("--no-sync --frozen --locked --all-extras --dev --no-dev --only-dev --active --exact --all-packages")
    | word_set("--all-groups --no-default-groups --no-editable --no-env-file -U --upgrade -m --module")
)
_CONDA = _Wrapper(
    word_set("-n --name -p --prefix --cwd"), word_set("--no-capture-output --live-stream --no-banner -v --verbose")
)
_NPX = _Wrapper(word_set("-p --package -w --workspace"), word_set("-y --yes --no --no-install -q --quiet"))
_WRAPPERS: Mapping[tuple[str, ...], _Wrapper] = {
    ("uv", "run"): _Wrapper(
        word_set("--with --with-editable --with-requirements -p --python --extra --group --only-group --no-group")
        | word_set("--directory --project --package --env-file --index --index-url"),
        _UV_RUN,
    ),
    ("uv", "tool", "run"): _Wrapper(word_set("--from --with -p --python"), _UV),
    ("uvx",): _Wrapper(word_set("--from --with -p --python"), _UV),
    ("pipx", "run"): _Wrapper(word_set("--spec --python"), word_set("--no-cache -q --quiet -v --verbose")),
    ("poetry", "run"): _Wrapper(),
    ("pipenv", "run"): _Wrapper(),
    ("pdm", "run"): _Wrapper(word_set("-p --project"), word_set("-m")),
    ("rye", "run"): _Wrapper(),
    ("hatch", "run"): _Wrapper(),
    ("pixi", "run"): _Wrapper(word_set("-e --environment --manifest-path"), word_set("--frozen --locked -q -v")),
    ("conda", "run"): _CONDA,
    ("mamba", "run"): _CONDA,
    ("micromamba", "run"): _CONDA,
    ("coverage", "run"): _Wrapper(
        word_set("--source --rcfile --include --omit --concurrency --data-file"),
        word_set("-m -p --parallel-mode --branch -a --append -L --pylib"),
    ),
    ("npx",): _NPX,
    ("npm", "exec"): _NPX,
    ("pnpm", "exec"): _Wrapper(),
    ("pnpm", "dlx"): _Wrapper(word_set("--package")),
    ("yarn", "exec"): _Wrapper(),
    ("yarn", "dlx"): _Wrapper(word_set("-p --package"), word_set("-q --quiet")),
    ("bunx",): _Wrapper(word_set("-p --package"), word_set("--bun --silent")),
    ("bun", "x"): _Wrapper(flags=word_set("--bun --silent")),
    ("bundle", "exec"): _Wrapper(flags=word_set("--keep-file-descriptors")),
    ("go", "tool"): _Wrapper(),
    ("rustup", "run"): _Wrapper(flags=word_set("--install"), skipped=1),
    ("mise", "exec"): _Wrapper(),
    ("direnv", "exec"): _Wrapper(skipped=1),
    ("docker", "buildx"): _Wrapper(),
    ("docker", "compose"): _Wrapper(word_set("-f --file -p --project-name --profile --env-file")),
    ("env",): _Wrapper(word_set("-u --unset -C --chdir"), word_set("-i --ignore-environment -")),
    ("cross-env",): _Wrapper(),
    ("dotenv",): _Wrapper(word_set("-f --file -e")),
    ("time",): _Wrapper(word_set("-f -o"), word_set("-p -v -a -q")),
    ("timeout",): _Wrapper(
        word_set("-k --kill-after -s --signal"), word_set("--foreground --preserve-status -v --verbose"), 1
    ),
    ("nice",): _Wrapper(word_set("-n --adjustment")),
    ("ionice",): _Wrapper(word_set("-c -n"), word_set("-t")),
    ("stdbuf",): _Wrapper(word_set("-i -o -e")),
    ("xvfb-run",): _Wrapper(word_set("-n -s --server-args -e -f -w"), word_set("-a --auto-servernum")),
    ("flock",): _Wrapper(word_set("-w --timeout"), word_set("-n --nonblock -x -s -o"), 1),
    ("sudo",): _Wrapper(word_set("-u --user -g -C -D -h -p"), word_set("-E -H -n -S -P --preserve-env")),
    ("doas",): _Wrapper(word_set("-u"), word_set("-n")),
    **{(name,): _Wrapper() for name in ("nohup", "command", "chronic", "unbuffer", "winpty")},
}


def verifies(line: str) -> bool:
    """Whether a shell line that exited 0 has verified or built something.

    Args:
        line: The command as it was run: variables set for it, chains, pipes and wrappers among it.
    """
    return proves(line, lambda words, assigned: _verifies(words, assigned, 0))


def _verifies(words: Words, assigned: Words, steps: int) -> bool:
    if not words or steps > _STEPS_MAX:
        return False
    tool, args = _tool(words[0]), words[1:]
    for length in (3, 2, 1):
        wrapper = _WRAPPERS.get((tool, *plain_words(args, VALUES.get(tool, frozenset()))[: length - 1]))
        if wrapper is not None:
            return _verifies_wrapped(tool, wrapper, args, length - 1, assigned, steps)
    if tool in _RUNNING and _WITH_OPTION.get(tool, frozenset()).isdisjoint(args):
        return _verifies(_interpreted(tool, args), assigned, steps + 1)
    if any(hides(tool, word) for word in args) or any(disarms(word) for word in (*assigned, *args)):
        return False
    if asks_by_word(tool, plain_words(args, VALUES.get(tool, frozenset()))):
        return False
    own = args[: args.index("--")] if "--" in args else args
    return _by_table(tool, words[0], own, assigned, steps)


def _verifies_wrapped(tool: str, wrapper: _Wrapper, args: Words, subcommands: int, assigned: Words, steps: int) -> bool:
    rest = list(args)
    values, flags = wrapper.values | VALUES.get(tool, frozenset()), wrapper.flags
    for _ in range(subcommands):
        rest = behind_known_options(rest, values, flags)[1:]
    inner = behind_known_options(rest, wrapper.values, flags)
    while inner and re.match(r"[A-Za-z_]\w*=", inner[0]):
        assigned, inner = (*assigned, inner[0]), inner[1:]
    inner = inner[wrapper.skipped :]
    named_by_project = subcommands == 1 and tool in _SCRIPT_RUNNERS and bool(inner) and _says_so(inner[0])
    if named_by_project:
        return not any(hides(tool, word) for word in inner) and not any(disarms(word) for word in assigned)
    return _verifies(inner, assigned, steps + 1)


def _by_table(tool: str, written: str, args: Words, assigned: Words, steps: int) -> bool:
    plain = plain_words(args, VALUES.get(tool, frozenset()))
    if tool == "mvn":  # whose phases follow each other
        plain = [phase for phase in plain if phase != "clean"]
    first = plain[0] if plain else ""
    if tool in _ALONE or first in _SUBCOMMANDS.get(tool, ()) or _by_option(tool, first, args):
        return True
    if tool in _TASKS and first not in _SCRIPT_RUNNERS.get(tool, ()):
        return _by_targets(tool, plain)
    if first in _SCRIPT_RUNNERS.get(tool, ()):
        return len(plain) > 1 and (_says_so(plain[1]) or _verifies(plain[1:], assigned, steps + 1))
    if tool in _SCRIPTS_WITHOUT_RUN:
        return _says_so(first) or _verifies(behind_options(args, VALUES[tool]), assigned, steps + 1)
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


def _interpreted(tool: str, args: Words) -> list[str]:
    """The module or file that an interpreter is asked to run, and its arguments; nothing where it may run none."""
    values, flags = VALUES.get(tool, frozenset()), _RUNNING[tool]
    if tool == "python" and "-m" in args:
        at = args.index("-m")
        module = list(args[at + 1 :])
        if behind_known_options([*args[:at], "--", *module], values, flags) == module:
            return module
    rest = behind_known_options(args, values, flags)
    return [f"./{rest[0]}", *rest[1:]] if rest else []


def _says_so(name: str) -> bool:
    """Whether a name that a project gave says, by its first or its last part, that it verifies or builds."""
    stem = re.sub(r"\.[a-z0-9]{1,4}$", "", name.rpartition("/")[2])
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", stem)
    if not parts:
        return False
    return not _VERBS.isdisjoint({parts[0].lower(), parts[-1].lower()}) or "".join(parts[-2:]).lower() == "typecheck"

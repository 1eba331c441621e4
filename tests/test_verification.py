"""Which commands count as a verification or a build, form by form."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.shell import LEVELS_MAX
from graph.verification import verifies

# One form a line; what stands under another heading verifies nothing.
PROVED = """
go test ./...
go vet ./...
go build ./cmd/x
go -C sub test ./...
go test -run TestX -v ./...
/usr/local/go/bin/go test
cargo test
cargo clippy -- -D warnings
cargo build --release
cargo check
cargo +nightly test
cargo --locked test
cargo --manifest-path sub/Cargo.toml clippy
cargo nextest run
cargo fmt --check
cargo fmt --all -- --check && cargo test
npm test
npm t
npm run build
npm run test:unit
npm run lint -- --max-warnings 0
npm run type-check
npm --prefix web run build
npm -w web run build
pnpm build
pnpm -r test
pnpm --filter web run lint
pnpm eslint .
yarn test
yarn lint --quiet
yarn workspace web build
yarn run tsc
yarn vitest run
bun test
bun run build
deno test
deno task check
npx tsc --noEmit
npx --yes eslint@9 .
npx -p typescript tsc
npm exec -- jest
pnpm exec vitest run
pnpm dlx @biomejs/biome check .
bunx jest
./node_modules/.bin/eslint .
tsc
tsc -p tsconfig.json
vue-tsc --noEmit
eslint src
vite build
next lint
ng test
prettier --check .
playwright test
node --test
node --test test/x.js
node scripts/check.mjs
pytest
pytest -q tests/test_x.py
python -m pytest
python3.12 -m pytest -x
python -W error -m unittest discover
python -m mypy graph
python -m build
python setup.py test
python manage.py test app
python tests/test_x.py
.venv/bin/pytest
uv run pytest
uv run --no-sync pytest -q
uv run --with pytest-xdist --python 3.12 pytest -n 4
uv run python -m pytest
uv run -m pytest
uv --directory sub run ruff check .
uvx ruff check
uv build
uv tool run ruff check
pipx run mypy .
poetry run pytest
poetry check
pipenv run pytest
pdm run test
hatch run types:check
hatch test
conda run -n env pytest
coverage run -m pytest
tox -e py312
nox
ruff check .
ruff format --check .
black --check .
isort --check-only .
mypy .
pyright
flake8
pylint pkg
pre-commit run --all-files
make check
make test lint
make -C sub check
make -j 4 check
make -j8
make -j -k test
make VERBOSE=1 unit-tests
make
gmake all
just test
task lint
rake spec
poe typecheck
invoke test
ninja -C out
cmake --build build
ctest --test-dir build -V
meson test -C build
bazel test //...
./gradlew test
gradle :app:testDebug
gradle build -x test
./mvnw -q verify
mvn -f sub/pom.xml -DskipITs package
sbt test
dotnet test
dotnet build -c Release
swift build
xcodebuild test
flutter analyze
mix test
stack test
zig build
nx run web:build
turbo run build
docker build -t x .
docker buildx build .
docker compose -f x.yml build
terraform validate
terraform fmt -check
golangci-lint run
golangci-lint --color always run
staticcheck ./...
shellcheck x.sh
rspec
bundle exec rspec
bundle exec rubocop
bin/rails test
php artisan test
vendor/bin/phpunit
composer test
javac Main.java
gcc -o x x.c
vet
lint
check ./...
build
test
./test
./scripts/run-tests.sh
scripts/lint
bash scripts/check.sh
sh ./build.sh --release
CI=1 go test ./...
CGO_ENABLED=0 GOFLAGS="-mod=mod -v" go test
env -u HOME CI=1 make check
cross-env NODE_ENV=test jest
timeout 60 go test ./...
timeout -k 5s 60s pytest
nice -n 10 make check
time go test
nohup make test
sudo -u build make test
xvfb-run -a npm test
stdbuf -oL pytest
flock /tmp/lock make test
cd sub && go test ./...
cd sub; go test ./...
go test ./... && go vet ./... && echo fine
go vet ./... ; go test ./...
(cd sub && make check)
{ echo start; make check; }
go test ./... > log 2>&1
go test $(go list ./... | grep -v vendor)
pytest -k "a or b"
go test ./... # all of them
echo y | npm test
set -o pipefail; go test ./... | tee log
set -euo pipefail; go test ./... 2>&1 | tail -20
set -e; go test ./...; echo fine
bash -c "go test ./..."
bash -lc 'cd sub && npm run build'
bash -eo pipefail -c 'go test ./... | tail'
sh -c "uv run pytest"
go test ./... || exit 1
go test ./... || { echo failed; exit 1; }
go test ./... || exit 1; echo fine
go test ./... || go test -count=1 ./...
go test ./... || exit 255; echo fine
pytest; exit $?
pytest; exit
set -e; set -o pipefail; pytest | tee log
set -eo pipefail; (pytest; echo hi); echo y
set -e; (pytest && echo hi); echo y
. .venv/bin/activate && pytest
source .venv/bin/activate; pytest
uv run --frozen -q pytest
RUSTFLAGS="-D warnings" cargo test
NODE_OPTIONS=--max-old-space-size=4096 npm test
PYTEST_ADDOPTS=-q pytest
MAKEFLAGS=-j4 make test
make MAKEFLAGS=k test
ruff check --fix .
python -u -m pytest
bash -ex scripts/check.sh
pylint --fail-on=E pkg
cppcheck --error-exitcode=1 src
mvn -B clean verify
make test ARGS="-v -x"
tox -elint
gradle -Pversion=1 build
go build -ldflags="-X main.version=$VERSION" ./...
PATH=$PWD/node_modules/.bin:$PATH eslint .
tsc -noEmit -preserveWatchOutput
pytest -n4 -p no:cacheprovider -o addopts=-q
pytest > log 2>&1; exit $?
"py"test 'tests'
cargo \\
  test
go test ./...
go vet ./...
"""

NOT_PROVED = """
go run ./cmd/x
go help test
go test --help
go mod tidy
go fmt ./...
cargo run
cargo fmt
cargo install ripgrep
npm install
npm run dev
npm run start
npm ci
yarn
yarn add jest
pnpm install
npx create-thing build
bun install
tsc --version
tsc --init
eslint --print-config x
prettier --write .
black .
isort .
ruff format .
pytest --version
pytest --collect-only
python x.py
python -c "import pytest"
python -m http.server
python
uv sync
uv run python x.py
poetry install
make clean
make install
make -n check
make --dry-run check
just
gradle clean
mvn clean
docker run x
docker compose up
terraform plan
test -f go.mod
test x = y
[ -f go.mod ]
[[ -f go.mod ]]
ls
echo test
echo go test
cat test.sh
grep -r test .
git commit -m "go test"
git check-ignore x
cd build
mkdir build
node
node server.js
./run.sh
rm -rf build
true
go test ./... || true
go test ./... || echo failed
go test ./... | tee log
go test ./... 2>&1 | tail -20
go test ./...; echo done
go test ./...; exit 0
go test ./... &
go test ./... & wait
! go test ./...
! go test ./... | cat x | pytest
time ! pytest | make check
set -o pipefail; ! pytest | make check
if go test ./...; then echo good; fi
for d in a b; do go test $d; done
while ! make check; do sleep 1; done
set -e; go test ./... && echo good; echo done
bash -c "go test ./... || true"
bash -c
echo "$(go test ./...)"
$TOOL test
go test && (
FOO=bar
#go test
f() { go test; }
timeout 60 sleep 1
sudo ls
exec go test
set -e; set +e; pytest; echo hi
(set -e); pytest; echo x
set -e; (pytest; echo hi) && echo y
set -e | cat; pytest; echo x
set -- -e; pytest; echo hi
set -- pipefail; pytest | cat
set -e -o pipefail +e; pytest; echo
set -e; (set +e; pytest; true)
set -e & pytest; echo x
set x errexit; pytest; echo hi
set -o pipefail; set +o pipefail; pytest | tee log
set -o noexec; pytest
set -n; pytest
set -e; { pytest && echo hi; }; echo y
true || set -e; pytest; echo x
if true; then set +e; fi; pytest
bash -ec 'set +e; pytest; echo'
bash -n -c "pytest"
bash -o noexec -c pytest
bash -n scripts/check.sh
bash -c "pytest $MORE"
pytest || exit 256
pytest || exit +0
pytest || exit -0
pytest || exit $((0))
pytest || exit $CODE
pytest || return 1; echo x
pytest || { exit 1 & }
pytest || { exit 0; exit 1; }
exit 0; pytest
time exit 0; pytest
exec true; pytest
trap 'exit 0' EXIT; pytest
pytest() { true; }; pytest
function pytest { true; }; pytest
alias go=true; go test
eval 'pytest() { true; }'; pytest
command eval x; pytest
hash -p /bin/true pytest; pytest
. ./other.sh; pytest
$X +e; pytest
"$X" 0; pytest
$'exit'; pytest
pytest & wait $!
command -v pytest
command -V pytest
uv run --help pytest
uv run x.py -m pytest
uv --help run pytest
nice --version pytest
sudo -l go test
sudo -b go test
setsid pytest
timeout --help 5 pytest
python -h -m pytest
python --version -m pytest
node --check scripts/check.mjs
make -nB check
make -nj4 check
make -j4 -nk check
pytest -o addopts=--co
pytest --override-ini=addopts=--collect-only
bazel test --build=false //...
bazel test --test_arg=--list //...
go test -test.list=.
make test ARGS=--collect-only
npm_config_script_shell=/bin/true npm test
BASH_ENV=x bash -c pytest
if true; then exit 0; fi; pytest
cd x && exit 0; pytest
env -S "true" pytest
timeout 60 bash -c 'pytest || true'
cross-env PYTEST_ADDOPTS=--co pytest
sudo GOFLAGS=-n go test
python -c 'x' -m pytest
make -Bn check
make -q check
make -i test
make -ki test
make -t build
make --quest check
make test --question
make SHELL=/bin/true test
make MAKEFLAGS=n test
MAKEFLAGS=-n make test
MAKEFLAGS=kn make test
MAKEFLAGS="$MAKEFLAGS -k" make test
export MAKEFLAGS=-n; make test
env MAKEFLAGS=-n make test
GOFLAGS=-n go test
GOFLAGS="-v -list=." go test
PYTEST_ADDOPTS=--collect-only pytest
export PYTEST_ADDOPTS=--co && pytest
MAVEN_OPTS=-DskipTests mvn test
pytest --co
pytest --collect
go test -n
go test --list .
go build -n
go vet -V=full
go vet -vettool=/bin/true
go test -list .
go test -exec true
cargo test -- --list
cargo nextest list
cargo build -V
ctest -N
tox -l
tox -av
tox list
nox -l
jest --listTests
vitest list
phpunit --list-tests
dotnet test --list-tests
bazel test --nobuild //...
mvn -v test
ruff check --show-files
ruff check --exit-zero
ruff check -e
flake8 --exit-zero
pylint --exit-zero pkg
pylint --exit-z pkg
deno lint --rules
golangci-lint run --issues-exit-code=0
golangci-lint run --issues-exit-code 0
mvn test -DskipTests
mvn test -Dmaven.test.skip=true
mvn test -Dmaven.test.failure.ignore=true
mvn -fn test
npm test -- --listTests
npm run build --if-present
npm run test -- --help
uv run pytest --co
hatch run test --help
govulncheck -json ./...
golint ./...
cppcheck src
"""


def forms(table: str) -> list[str]:
    """One command a line; a line that is indented or follows a continuation belongs to the one before."""
    return [line for line in table.replace("\\\\\n  ", "\\\n").strip().split("\n") if line]


def commands(table: str) -> list[str]:
    joined: list[str] = []
    for line in forms(table):
        if joined and joined[-1].endswith("\\"):
            joined[-1] += "\n  " + line.strip()
        else:
            joined.append(line)
    return joined


@pytest.mark.parametrize("command", commands(PROVED))
def test_it_verifies_or_builds(command: str) -> None:
    assert verifies(command)


@pytest.mark.parametrize("command", commands(NOT_PROVED))
def test_it_does_neither(command: str) -> None:
    assert not verifies(command)


def test_lines_of_one_command_follow_each_other() -> None:
    assert verifies("cd sub\ngo test ./...\n")
    assert not verifies("go test ./...\necho done\n")
    assert not verifies("pytest <<END || true\nEND")
    assert verifies("cat <<END > x.go\nrm -rf /\nEND\ngo test ./...")


def test_what_is_nested_beyond_all_use_is_no_command_and_takes_no_time() -> None:
    assert verifies("( " * (LEVELS_MAX - 2) + "make check" + ")" * (LEVELS_MAX - 2))
    assert not verifies("( " * 3_000 + "make check" + ")" * 3_000)
    assert not verifies("sudo " * 100 + "make check")


@given(
    st.text(max_size=60) | st.lists(st.sampled_from([*"()|&;<>'\"\\$`!{} \n", "go", "test", "-c", "bash"])).map("".join)
)
def test_any_text_is_answered(text: str) -> None:
    assert verifies(text) in (True, False)


_STEPS = st.sampled_from(
    ["pytest"] * 3
    + ["! pytest", "time pytest", "command pytest", "pytest 2>&1", "echo x", "true", "false", "X=1"]
    + ["exit 1", "exit 256", "exit 0", "exit", "exit $?", "return 1", "set -e", "set +e", "set -o pipefail"]
    + ["trap 'exit 0' EXIT", "alias pytest=true", "eval 'pytest; true'", "exec true"]
)
_JOINED = st.sampled_from(["{}; {}", "{}\n{}", "{} && {}", "{} || {}", "{} | {}", "{} & {}", "if {}; then {}; fi"])
_GROUPED = st.sampled_from(["({})", "{{ {}; }}", 'bash -c "{}"', 'bash -eo pipefail -c "{}"'])
_LINES = st.recursive(
    _STEPS,
    lambda inner: st.builds(str.format, _JOINED, inner, inner) | st.builds(str.format, _GROUPED, inner),
    max_leaves=8,
)


@given(st.sampled_from(["", "set -e; ", "set -o pipefail; ", "set -euo pipefail\n"]), _LINES)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_where_pytest_fails_bash_exits_0_on_no_line_that_proves_it(tmp_path: Path, start: str, line: str) -> None:
    if not verifies(start + line):
        return
    failing = tmp_path / "pytest"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o700)
    ran = subprocess.run(
        ["bash", "-c", start + line],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert ran.returncode != 0

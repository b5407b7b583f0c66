# Two commands are enough: `make up` runs Horae, `make test` proves it. `make` alone explains the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS_READY := $(VENV)/.peers-ready
COLLECTED := $(VENV)/.collected
PURE_TESTS := tests/unit/lifecycle tests/unit/model
QUICK_TESTS := $(PURE_TESTS) tests/unit/schedule tests/contract/test_memory.py tests/contract/test_sqlite.py
# The searches of the schedule package take as long as all the rest of `make quick`.
QUICK_LEFT_OUT := tests/unit/schedule/test_planted_defects.py tests/unit/schedule/test_cron_oracle.py \
	tests/unit/schedule/test_recurrence_oracle.py
SOAK_TESTED := tests/simulation tests/unit/schedule tests/model_based tests/faults tests/cluster tests/api/test_openapi_fuzz.py \
	tests/unit/test_bench.py tests/unit/test_bench_scale.py tests/stations tests/unit/stations tests/unit/lifecycle \
	tests/agents/host tests/contract/test_docker_runtime.py tests/contract/test_valkey.py
PYTEST_OPTIONS :=

# Hundreds of tests start processes of their own: where nobody may keep compiled modules, each compiles all of them again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help up test quick lint types contracts check coverage pytest simulation faults soak soak-tests soak-api screenshots bench conformance format clean

help: ## Show this list
	@awk -v width="$$(tput cols 2>/dev/null || echo 80)" 'BEGIN {FS = ":.*## "; if (width < 40) width = 80} \
		/^[a-z-]+:.*## / {line = sprintf("  make %-12s", $$1); count = split($$2, words, " "); \
		for (n = 1; n <= count; n++) {if (length(line) + 1 + length(words[n]) > width) {print line; line = sprintf("%19s", "")} \
		line = line " " words[n]} print line}' $(MAKEFILE_LIST)

# A terminal on any of the three streams means that somebody can press Ctrl-C. Without one, a make that a script began in the
# background may ignore SIGINT, so it ends after a minute. The test stands outside of $$(…), where stdout would be a pipe.
up: $(READY) ## Set everything up and run Horae with a few demo tasks, on .horae/horae.db (Ctrl-C ends it)
	@mkdir -p .horae; limit="--seconds 60"; if test -t 0 || test -t 1 || test -t 2; then limit=""; fi; \
		exec $(BIN)/horae up --demo --store sqlite:///.horae/horae.db $$limit

test: $(READY) ## Set everything up and run all checks: lint, types, import contracts, tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check coverage $(COLLECTED)
	@$(MAKE) --no-print-directory pytest PYTEST_OPTIONS="$(patsubst %,--ignore=%,$(PURE_TESTS))"

quick: check ## An answer in less than 90 seconds: lint, types, contracts, tests of the pure packages, of memory and SQLite
	@echo "== quick tests"; $(BIN)/pytest -q -n 2 --dist worksteal $(QUICK_TESTS) $(patsubst %,--ignore=%,$(QUICK_LEFT_OUT))

check: lint types contracts ## Lint, types and import contracts, without the tests

lint: $(READY) ## Style, formatting and banned calls
	@echo "== ruff"; $(BIN)/ruff check && $(BIN)/ruff format --check

types: $(READY) ## mypy --strict on the source and the tests
	@echo "== mypy --strict"; $(BIN)/mypy

contracts: $(READY) ## Imports point down only
	@echo "== import contracts"; $(BIN)/lint-imports

# These run once in `make test`: here, and not again beside the others.
coverage: $(READY) ## Every branch of the pure packages, by their own tests
	@echo "== branches of model and lifecycle"; $(BIN)/pytest -q -n 2 $(PURE_TESTS) --cov=horae.model --cov=horae.lifecycle \
		--cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100

# Four at once on two processors: many tests wait for processes, servers and leases that they have started.
pytest: $(READY) ## Only the tests
	@echo "== tests"; $(BIN)/pytest -n 4 --dist worksteal --durations=15 --durations-min=10 $(PYTEST_OPTIONS)

simulation: $(READY) ## Of the tests: the real engine in virtual time with seeded faults, and every interleaving of small scopes
	@echo "== simulation"; $(BIN)/pytest -n 2 tests/simulation

faults: $(READY) ## Of the tests: real processes, kill -9, a full disk, lost power
	@echo "== faults"; $(BIN)/pytest -n 2 tests/faults

# SOAK_MINUTES (10), SOAK_STORE (postgres, mariadb, redis, sqlite), SOAK_SEED (by chance), SOAK_NODES (5), SOAK_CROWD (25,000 for
# each minute, a million at most) say how; what it prints at the end includes the seed that repeats it.
soak: $(READY) ## Nodes on a real server, under load and chance faults, for SOAK_MINUTES; then the verdict
	@$(BIN)/python -m tests.cluster.soak

soak-tests: $(READY) ## The tests that search by chance at their full sizes: seeds, fuzz, kills, crowds of tasks
	@echo "== tests at soak sizes"; SOAK_TESTS=1 $(BIN)/pytest -n 2 --dist worksteal $(SOAK_TESTED)

# SOAK_API_REQUESTS (1,000,000) and SOAK_API_SEED (by chance) say how.
soak-api: $(READY) ## A million requests by chance to a real server: all are answered, none with 5xx, and its memory stays flat
	@$(BIN)/python -m tests.api.soak

screenshots: $(READY) ## Pictures of every page of the console, into docs/images
	@$(BIN)/python -m tests.console.screenshots docs/images

bench: $(READY) ## Measure against peers, side by side in one run
	@$(BIN)/python -m bench

conformance: $(PEERS_READY) ## Score Horae and the known libraries on the conformance cases
	@$(BIN)/python conformance/score.py --all

format: $(READY) ## Let ruff rewrite what it can
	@$(BIN)/ruff format && $(BIN)/ruff check --fix

clean: ## Remove the virtual environment and caches
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found: Horae needs Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $$($(PYTHON) --version) is too old: Horae needs Python 3.11 or newer (make PYTHON=python3.12)"; exit 1; }
	@echo "== setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# One stamp for the whole environment: it is made anew when the dependencies change, and only then.
$(READY): pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	@touch $@

# In a new clone one process compiles the tests, beside mypy: otherwise all four of the tests would compile
# every one of them. A test that cannot be collected is reported by the run itself.
$(COLLECTED): | $(READY)
	@$(BIN)/pytest --collect-only -q -p no:xdist >/dev/null 2>&1 || true; touch $@

$(PEERS_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench,conformance]'
	@touch $@

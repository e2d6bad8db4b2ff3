# Every target installs what it needs: a machine with Python 3.11+ and make is enough.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Three tests at a time for two cores, because many wait for processes; who runs out of tests takes some from another.
SIDE_BY_SIDE = $(shell $(PYTHON) -c 'import os; n = os.cpu_count() or 1; print(n + n // 2)')
PYTEST = $(BIN)/python -m pytest --numprocesses $(SIDE_BY_SIDE) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help install demo test check lint bench fuzz soak clean

help:  ## list these commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: .venv/.installed-dev  ## install nses with all extras into .venv

demo: .venv/.installed  ## train all four algorithms on point-trap: tables and figures in minutes
	$(BIN)/nses reproduce point-trap --recipe laptop --runs 5 --directory demo

test: .venv/.installed-dev  ## run every test (under 9 minutes on two cores)
	$(PYTEST)

check: lint  ## run lint and the fast tests: before every commit
	$(PYTEST) -m "not slow"

lint: .venv/.installed-dev  ## check format, lint, types and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright

bench: .venv/.installed-dev  ## run the benchmarks into benchmarks/results, other libraries too (1.5 GB, once)
	$(BIN)/python -m benchmarks

fuzz: .venv/.installed-dev  ## damage runs and command lines for ten minutes; FUZZ="--seed 1" tries others
	$(BIN)/python -m benchmarks fuzz --seconds 600 $(FUZZ)

soak: .venv/.installed-dev  ## train for ten minutes while everything goes wrong; SOAK="--seed 1" tries other faults
	$(BIN)/python -m benchmarks soak --seconds 600 $(SOAK)

clean:  ## remove the environment, compiled code and caches (runs stay)
	rm -rf .venv benchmarks/rivals/.venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nses/compiled
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "nses needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

# One stamp per set of extras, so that nothing is installed twice; each set includes the one before.
.venv/.installed: pyproject.toml constraints.txt | .venv/.created
	$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

.venv/.installed-dev: .venv/.installed
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

# Everything starts with `make chat` or `make test`; both set up .venv when it is missing or old.
# Needs Python 3.11 or newer (with venv and pip) and make. `make help` lists the rest.

PYTHON ?= python3
UV_VERSION := 0.13.7
PIPX_VERSION := 1.18.4

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOG := $(VENV)/setup.log
LOCKER := .venv-lock
SCRATCH := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/co-cli/scratch
COMPILE = $(LOCKER)/bin/uv --no-config pip compile pyproject.toml --quiet --universal \
	--python-version 3.11 --generate-hashes --no-header --no-annotate \
	$(if $(UPGRADE),--upgrade)

# A person's own pip and Python settings must not send the packages elsewhere.
unexport PYTHONHOME PYTHONPATH PIP_PREFIX PIP_TARGET
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help chat test check fix bench bench-big bench-peers bench-mcp inspector torture mutants docs lock package clean python
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

chat: $(READY) ## talk with Co, in a scratch folder outside this repository
	@mkdir -p "$(SCRATCH)"
	@echo "Notes of this chat go to $(SCRATCH). In a project of yours: $(CURDIR)/$(BIN)/co chat" >&2
	@cd "$(SCRATCH)" && exec "$(CURDIR)/$(BIN)/co" chat

test: $(READY) ## run the whole test suite
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal

check: $(READY) ## format, lint, types, tests with coverage, docs: what must pass before a commit
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy $(wildcard co_cli tests scripts bench)
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered
	@$(BIN)/python scripts/docs.py --check

fix: $(READY) ## mend the format and what the linter can mend
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

bench: $(READY) ## measure speed and what recall finds
	@$(BIN)/python bench/run.py

bench-big: $(READY) ## measure 100,000 notes, 1,000 broken indexes and 20,000 strange queries
	@$(BIN)/python bench/run.py --big

bench-peers: $(READY) ## put the same questions to others, in environments of their own
	@$(BIN)/python bench/peers.py

bench-mcp: $(READY) ## measure the server for other agents, with many clients at once
	@$(BIN)/python bench/mcp_server.py

inspector: $(READY) ## get the protocol's own inspector from npm, and try the server with it
	@npm install --silent --no-fund --no-audit --prefix $(VENV)/inspector @modelcontextprotocol/inspector
	@$(BIN)/python -m pytest -q tests/test_mcp_clients.py -k inspector

torture: $(READY) ## kill writers at every point and look for lost notes
	@$(BIN)/python bench/torture.py

mutants: $(READY) ## break single lines of the core and see whether a test notices (SEED=1)
	@$(BIN)/python bench/mutants.py --seed $(or $(SEED),1)

docs: $(READY) ## write the generated pages, and draw the pictures in the README
	@$(BIN)/python scripts/docs.py
	@$(BIN)/python scripts/picture.py
	@$(BIN)/python scripts/page_picture.py

lock: python ## pin the packages again (UPGRADE=1 takes the newest releases)
	@$(PYTHON) -m venv --clear $(LOCKER)
	@$(LOCKER)/bin/python -m pip install -q -q -q uv==$(UV_VERSION)
	@$(COMPILE) -o requirements/base.lock
	@$(COMPILE) -o requirements/dev.lock --group dev -c requirements/base.lock
	@rm -rf $(LOCKER)

package: python ## install Co as people do, with pip, pipx and uv, and try each
	@$(PYTHON) scripts/package.py pipx==$(PIPX_VERSION) uv==$(UV_VERSION)

clean: ## remove the environment and everything the tools left behind
	@rm -rf $(VENV) $(LOCKER) .bench-peers .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find co_cli tests scripts bench -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Co needs Python 3.11 or newer, and '$(PYTHON)' is not one."; \
		echo "If you have one by another name, say so: make PYTHON=python3.12 ..."; \
		exit 1; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "This Python cannot make an environment: its venv or ensurepip module is missing."; \
		echo "On Debian and Ubuntu, install the package python3-venv, then try again."; \
		exit 1; } >&2

# An environment that still works is brought up to date in place; any other is made anew.
$(READY): requirements/base.lock requirements/dev.lock pyproject.toml
	@$(MAKE) --no-print-directory python
	@echo "Setting up $(VENV) (about a minute the first time)" >&2
	@$(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| $(PYTHON) -m venv --clear $(VENV)
	@{ $(BIN)/python -m pip install --no-deps --require-hashes -r requirements/dev.lock \
		&& $(BIN)/python -m pip install --no-deps --no-build-isolation -e . ; } >$(LOG) 2>&1 \
		|| { cat $(LOG) >&2; exit 1; }
	@# The path as pip writes it, with a letter beyond ASCII, stops Python before 3.13 in LC_ALL=C.
	@for path in $(VENV)/lib/python3*/site-packages/co_cli.pth; do echo ../../../.. >"$$path"; done
	@$(BIN)/python -m compileall -qq co_cli || true # only speed: a broken file is for the tests to tell
	@touch $@

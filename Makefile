# Everything that is done with the console from a shell. `make help` lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help up down demo test bench lint fmt lock

# The first Python that is new enough; PYTHON=… chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes
# Tests at once. Each has a database of its own, and those with a browser a console of their own.
WORKERS ?= 3

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 14

up: .venv/.runtime ## run the console with its own servers: PORT=8000 OPSCONSOLE_DATA=.data DEMO=no
	@exec $(BIN)/python -m opsconsole.up

down: .venv/.runtime ## stop what `make up` runs on OPSCONSOLE_DATA
	@$(BIN)/python -m opsconsole.up down

demo: .venv/.runtime ## send a minute of made-up traffic to the running console
	@$(BIN)/python -m opsconsole.up demo

test: lint ## lint, then test on throw-away servers: WORKERS=3
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

bench: .venv/.tests ## measure speed and memory, as a table
	$(BIN)/python -m tests.bench

lint: .venv/.tests ## check format, style, types, imports and migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -W ignore::RuntimeWarning -m django makemigrations --check --dry-run --settings tests.lint_settings

fmt: .venv/.tests ## format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: .venv/.tests ## resolve requirements/*.in into hashed locks
	for set in runtime tests; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links requirements/$$set.in -o requirements/$$set.txt || exit 1; done

# A finished environment has a stamp; anything less is made again.
.venv/.runtime: requirements/runtime.txt
	$(make-environment)
	@echo "Installing what the console runs on; this takes a minute, once."
	@$(PIP) -r requirements/runtime.txt
	@touch $@

.venv/.tests: requirements/tests.txt requirements/runtime.txt
	$(make-environment)
	@echo "Installing what the tests need; this takes a minute, once."
	@$(PIP) -r requirements/tests.txt
	@touch .venv/.runtime $@

define make-environment
@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found." >&2; exit 1; }
@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
	{ rm -rf .venv; echo "$(PYTHON) cannot make a virtual environment; on Debian install python3-venv." >&2; exit 1; }
endef

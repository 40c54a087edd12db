# Two commands do everything: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CHECKED := src tests benchmarks $(wildcard docs/*.py)

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick test-32 test-thorough lint format types interface bench figures docs clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lexicone needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed  ## install, run the paper's optimisation benchmark, solve one of its mazes, learn another, draw all
	$(BIN)/lexicone reproduce lpa --out runs/lpa
	$(BIN)/lexicone solve maze:extended --set objectives=path --thresholds -3 --out runs/maze
	$(BIN)/lexicone train maze:concave --thresholds 0.5 --settings criterion=episode --episodes 4000 --out runs/train

test: $(VENV)/.installed-dev $(VENV)/.installed-docs  ## install the development extra, then lint, type check, build the documentation and test
	$(MAKE) --output-sync -j2 lint types docs
	$(BIN)/python -m pytest -n auto --dist loadfile
	$(MAKE) test-32

test-quick: $(VENV)/.installed-dev  ## the tests that take less than a second or so each
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

test-32: $(VENV)/.installed-dev  ## a core of the tests in 32 bits, JAX's default and so what users have
	JAX_ENABLE_X64=0 $(BIN)/python -m pytest -n auto --dist loadfile -m float32 tests/examples tests/directions tests/learning

test-thorough: $(VENV)/.installed-dev  ## the tests with many more random examples
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/.installed-dev  ## ruff: lint and format check; rooms import from earlier ones only
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.installed-dev  ## rewrite the files in the project's format
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

types: $(VENV)/.installed-dev $(VENV)/.installed-docs  ## pyright
	$(BIN)/pyright --warnings

interface: $(VENV)/.installed-dev  ## store the public interface as it is now, for the test that notices changes
	$(BIN)/python -m tests.contracts.interface

bench: $(VENV)/.installed-dev  ## time everything that has a peer or a limit, one after the other
	$(BIN)/python benchmarks/direction.py
	$(BIN)/python benchmarks/flow.py
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python benchmarks/linear_quadratic.py
	$(BIN)/python benchmarks/explore.py
	$(BIN)/python benchmarks/tlq.py
	$(BIN)/python benchmarks/augment.py
	$(BIN)/python benchmarks/reinforce.py
	$(BIN)/python benchmarks/studies.py

figures: $(VENV)/.installed  ## draw every figure of the paper that lexicone reproduces
	$(BIN)/lexicone figure all --out runs/figures

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.installed

docs: $(VENV)/.installed-docs  ## build the documentation into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:  ## remove the virtual environment, caches and runs
	rm -rf $(VENV) runs site .pytest_cache .ruff_cache .hypothesis

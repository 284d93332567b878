# Everything lives in .venv; `make demo` and `make test` set it up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= 8

.PHONY: help install demo test check bench clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/skillopt: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

install: $(BIN)/skillopt ## set up .venv

demo: $(BIN)/skillopt ## train on the sample data with the simulator and print the score table
	$(BIN)/skillopt train searchqa --cores $(CORES)

test: $(BIN)/skillopt ## run all checks and tests
	$(MAKE) check
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder tests/workflow tests/docs tests

check: $(BIN)/skillopt ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile rules workflow/Snakefile
	$(BIN)/snakemake --lint

bench: $(BIN)/skillopt ## measure speed, calls and memory (about 20 minutes)
	$(BIN)/python benchmarks/run.py

clean: ## remove .venv and caches, keep results
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist

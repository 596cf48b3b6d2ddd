# make            set up .venv and run the demo, to results/claims.html
# make test       set up .venv and run the tests (real data: set MAA_DATA_MIRROR)
# make lint       style, types and the workflow's own linter
# make reproduce CONFIG=config/paper.yaml    a whole study (CONFIG="A B": B laid over A)
# make why CONFIG=...   what would run again, and which modules changed
# make report     one self-contained file of the last study's results

PYTHON ?= python3
CORES ?= all
CONFIG ?= config/paper.yaml
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)

.DEFAULT_GOAL := demo
.PHONY: setup demo reproduce why report test lint format clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "error: Python %d.%d found, 3.11 or newer is needed; name one with make PYTHON=..." % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(READY)
	$(SNAKEMAKE)

reproduce: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG)

why: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) --dry-run 2>&1 | $(BIN)/python workflow/scripts/why.py

report: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) --report report.zip

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

clean:
	rm -rf $(VENV) .snakemake results logs data/raw data/prepared

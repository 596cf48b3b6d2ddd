# make            set up .venv and run the demo, to results/claims.html
# make rows       what is needed to read pretrained transformers (python -m maa audit)
# make test       set up .venv and run the tests (real data: set MAA_DATA_MIRROR)
# make lint       style, types and the workflow's own linter
# make reproduce CONFIG=config/paper.yaml    a whole study (CONFIG="A B": B laid over A)
# make cluster CONFIG=...  the same, each job submitted to SLURM (docs/cluster.md)
# make unlock     after a crash: end what it left running, free the folder
# make plan CONFIG=...  what it would cost, from the benchmarks of earlier runs
# make status     how far the last study is: done, running, failed, left
# make why CONFIG=...   what would run again, and which modules changed
# make figures CONFIG=... figures, tables and claims from the measurements that are there
# make bundle CONFIG=...  all results in one archive; make verify BUNDLE=FILE checks one
# make report     one self-contained file of the last study's results

PYTHON ?= python3
CORES ?= all
CONFIG ?= config/paper.yaml
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ROWS := $(VENV)/.rows
# A folder named by SNAKEMAKE_OUTPUT_CACHE shares downloaded and prepared data.
CACHE := $(if $(SNAKEMAKE_OUTPUT_CACHE),--cache download prepare)
SNAKEMAKE := $(BIN)/snakemake $(CACHE) --cores $(CORES)

.DEFAULT_GOAL := demo
.PHONY: setup demo reproduce cluster unlock plan status why figures bundle verify report rows test lint format clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "error: Python %d.%d found, 3.11 or newer is needed; name one with make PYTHON=..." % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,slurm]'
	touch $@

demo: $(READY)
	$(SNAKEMAKE)

reproduce: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG)

cluster: $(READY)
	$(BIN)/snakemake --workflow-profile workflow/profiles/slurm --configfile $(CONFIG)

unlock: $(READY)
	@$(BIN)/python workflow/scripts/unlock.py

plan: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) --dry-run --printshellcmds 2>&1 | $(BIN)/python workflow/scripts/plan.py --registry config/datasets.yaml --cores $(CORES)

status: $(READY)
	@$(BIN)/python workflow/scripts/status.py

why: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) --dry-run 2>&1 | $(BIN)/python workflow/scripts/why.py

# Nothing is trained here: shipped measurements are as good as one's own. All is forced,
# since what was shipped has no record of the code that it was made by.
figures: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) --allowed-rules infer contrast select_power facts audit_facts claims figure table figures --forceall -- figures results/claims.html

bundle: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) -- results/bundle.zip

verify: $(READY)
	@$(BIN)/python workflow/scripts/verify.py $(BUNDLE) --snakefile Snakefile --cores $(CORES)

report: $(READY)
	$(SNAKEMAKE) --configfile $(CONFIG) --report report.zip --report-stylesheet workflow/report/style.css

# Pretrained transformers, which the demo has no need of.
rows: $(ROWS)

$(ROWS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[rows]'
	touch $@

test: $(ROWS)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(ROWS)
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
	rm -rf $(VENV) .snakemake results logs data/downloads data/raw data/prepared

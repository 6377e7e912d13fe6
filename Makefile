# mase-hw: two commands on a fresh clone, `make sim` and `make test`. Everything is installed into .venv.

PYTHON ?= python3
MODEL  ?= examples/digits/model.toml
SIM    ?=
TEST   ?=
BENCH  ?=
FUZZ   ?=
JOBS   ?= 3

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip install --quiet --constraint constraints.txt

OLD := mase-hw needs Python 3.11 or newer and $(PYTHON) is %d.%d; name another one: make PYTHON=python3.11

.PHONY: help sim lint test test-all browser check bench bench-hardware fuzz docs clean

help:
	@echo "make sim      emit a model and simulate it: MODEL=my.toml (default $(MODEL)), SIM='--seed 1'"
	@echo "make test     formatter, linter, types and the tests: TEST='-k relu --durations=15', JOBS=3"
	@echo "make test-all the same with the tests that take long"
	@echo "make lint     formatter, linter and types alone"
	@echo "make browser  on a CI machine, as root: Chromium, in which tests look at the pages of reports"
	@echo "make check    formatter, linter, types, fast tests"
	@echo "make bench    timings, as ratios: BENCH='--json bench.json'"
	@echo "make bench-hardware   LUTs, cycles and emit times beside other tools'; slow: BENCH='--skip-unkept --only small'"
	@echo "make fuzz     random networks from TOML to certificate: FUZZ='--count 2000'; stopped, it goes on later"
	@echo "make docs     the documentation as a site in build/site, links checked"
	@echo "make clean    remove build/, dist/ and caches; VENV_TOO=1 also removes $(VENV)"
	@echo "make help     this list; PYTHON=python3.12 chooses the Python that $(VENV) is made with"

# pip is the last thing that venv puts there: a virtual environment that was left half-made is made again.
$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not found; mase-hw needs Python 3.11 or newer: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and "$(OLD)" % v or 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) comes without venv: apt install python3-venv, or name another one: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/pip
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(PIP) --editable '.[dev]'
	@touch $@

sim: $(VENV)/.base
	$(BIN)/mase-hw emit "$(MODEL)"
	$(BIN)/mase-hw sim "$(MODEL)" $(SIM)

# The page of `mase-hw report` is looked at in a real browser. On a CI machine (root, Debian) it is installed if it is
# missing; elsewhere, or where that fails, the tests that need one are skipped and say so.
browser:
	@command -v chromium >/dev/null || { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } \
	  >/dev/null 2>&1 || echo "no Chromium: the tests that look at pages are skipped"

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint $(if $(CI),browser)
	$(BIN)/python -m pytest -n $(JOBS) -m "not nightly" $(TEST)

test-all: lint $(if $(CI),browser)
	$(BIN)/python -m pytest -n $(JOBS) $(TEST)

check: lint
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not nightly" $(TEST)

bench: $(VENV)/.dev
	$(BIN)/python bench/run.py $(BENCH)

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) --editable '.[bench]'
	@touch $@

bench-hardware: $(VENV)/.bench
	$(BIN)/python bench/hardware.py $(BENCH)

fuzz: $(VENV)/.dev
	$(BIN)/python bench/fuzz.py $(FUZZ)

# The variable silences the theme's advertisement.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis $(if $(VENV_TOO),$(VENV))
	find . -path ./$(VENV) -prune -o -name __pycache__ -prune -exec rm -rf {} +

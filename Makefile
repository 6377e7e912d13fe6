# mase-hw: two commands on a fresh clone, `make sim` and `make test`. Everything is installed into .venv.

PYTHON ?= python3
MODEL  ?= examples/digits/model.toml
SIM    ?=
JOBS   ?= 2

VENV := .venv
BIN  := $(VENV)/bin

.PHONY: help sim test check bench clean

help:
	@echo "make sim [MODEL=my.toml] [SIM='--seed 1']  emit a model and simulate it (default: $(MODEL))"
	@echo "make test    the whole test suite"
	@echo "make check   formatter, linter, types, fast tests"
	@echo "make bench   timings, as ratios"
	@echo "make clean   remove builds and caches (and .venv: make clean VENV_TOO=1)"

$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mase-hw needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

sim: $(VENV)/.base
	$(BIN)/mase-hw emit $(MODEL)
	$(BIN)/mase-hw sim $(MODEL) $(SIM)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

bench: $(VENV)/.dev
	$(BIN)/python bench/run.py

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis $(if $(VENV_TOO),$(VENV))
	find . -name __pycache__ -not -path './.venv/*' -exec rm -rf {} +

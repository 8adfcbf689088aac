PYTHON ?= python3
JOBS ?= 2
STAMP := .venv/.installed
# One thread for each test process: small matrices gain nothing from more, and processes fight over cores.
PYTEST := OMP_NUM_THREADS=1 .venv/bin/pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup hooks example test test-fast test-ci test-lowest lint types check docs dist reproduce smoke

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## install the package and its tools into .venv

$(STAMP): pyproject.toml constraints.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -c constraints.txt -e ".[dev,docs]"
	touch $@

hooks: $(STAMP)  ## check every commit with pre-commit
	.venv/bin/pre-commit install

example: $(STAMP)  ## train the GP-VAE on ten tasks of synthetic weather: a table, and figures in runs/
	.venv/bin/gpvae fit -c configs/era5_ohsvgp.yaml

test: $(STAMP)  ## run every test
	$(PYTEST)

test-fast: $(STAMP)  ## run the tests that are not slow
	$(PYTEST) -m "not slow"

test-ci: $(STAMP)  ## run the tests that are not slow, and a few of the slow ones
	$(PYTEST) -m "not slow or ci"

test-lowest:  ## install the lowest declared versions (INSTEAD: others) into .venv-lowest, and run the tests that are not slow
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python tests/packaging/lowest.py pyproject.toml $(INSTEAD) > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install -q -c .venv-lowest/lowest.txt -e ".[era5,grib,zarr,parquet,sklearn]" pytest pytest-xdist hypothesis
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" -W default \
		--ignore tests/architecture --ignore tests/fuzz/test_licences.py  # these are about tools and the tested versions

lint: $(STAMP)  ## check style, formatting and which package imports which
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports

types: $(STAMP)  ## check types
	.venv/bin/mypy

check: lint types test-ci  ## lint, types and tests: what CI runs

docs: $(STAMP)  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

dist: $(STAMP)  ## build sdist and wheel into dist/
	rm -rf dist
	.venv/bin/python -m build

reproduce: $(STAMP)  ## run every experiment of the paper (days on one core; QUICK=1: minutes) and make a page of it
	.venv/bin/python -m pip install -q -c constraints.txt -e ".[reproduce]"
	.venv/bin/python -m benchmarks.reproduce $(if $(QUICK),--quick) --jobs $(JOBS)

smoke: dist  ## install the wheel into an empty environment and try it there
	PYTHON=$(PYTHON) tests/packaging/smoke.sh dist/*.whl

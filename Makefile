# Every target sets up what it needs by itself: a virtual environment from a bare Python 3.11 and the
# locked dependencies. Nothing outside this folder is touched, but for the programs of the end-to-end tests:
# MOORING_E2E_CACHE says where they are kept.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NODES ?= 10
# Tests start many processes: without compiled modules each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
SOAK_PODS ?= 1000000

.DEFAULT_GOAL := help
.PHONY: help setup demo test e2e conformance cluster check arena peer chaos bench faults soak fuzz lock clean

help: ## what can be done here
	@grep -E '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## the virtual environment, with locked dependencies

$(READY): requirements.lock pyproject.toml examples/spot/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Mooring needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e examples/spot
	@touch $@

demo: $(READY) ## place the quick start on the embedded cluster, with a report
	$(BIN)/mooring simulate examples/quickstart --report out/demo

test: $(READY) ## every test that needs no extra toolchain
	$(BIN)/python -m pytest -n auto --dist worksteal tests examples/spot/tests

e2e: $(READY) ## tests against a real control plane, built from Go modules (needs Go 1.26) and kept in a cache
	$(BIN)/python tests/e2e/binaries.py
	$(BIN)/python -m pytest tests/e2e tests/deploy tests/chaos/test_real.py

conformance: $(READY) ## Kubernetes' own end-to-end suite for scheduling, Mooring beside kube-scheduler (needs Go 1.26)
	$(BIN)/python tests/conformance/run.py

cluster: $(READY) ## a real control plane with NODES nodes and Mooring, until Ctrl-C (needs Go 1.26)
	$(BIN)/python tests/e2e/serve.py --nodes $(NODES)

check: $(READY) ## style, types, layers
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

arena: $(READY) ## kube-scheduler and Mooring by turns on one control plane, one table (needs Go 1.26)
	$(BIN)/python -m benchmarks.arena

peer: $(READY) ## kube-scheduler's own code and the engine in process, on the same nodes and pods (needs Go 1.26)
	$(BIN)/python -m benchmarks.peer
	$(BIN)/python -m benchmarks.peer --compare

chaos: $(READY) ## everything fails at random for 20 minutes; gaps without binds beside kube-scheduler (needs Go 1.26)
	$(BIN)/python -m tests.chaos $(if $(CHAOS_SEED),--seed $(CHAOS_SEED))
	$(BIN)/python -m tests.chaos --share $(if $(CHAOS_SEED),--seed $(CHAOS_SEED))
	$(BIN)/python -m tests.chaos --gaps

bench: $(READY) ## everything that has a target, scaled to this machine; fails when one is missed
	$(BIN)/python -m benchmarks.bars

faults: $(READY) ## small faults planted in a copy of the source, one at a time: which the tests catch (FAULTS: some of them)
	$(BIN)/python tests/planted_faults.py $(FAULTS)

soak: $(READY) ## a million one-off pods (SOAK_PODS), then long random comparisons (SOAK_EXAMPLES, SOAK_CPU_SECONDS)
	$(BIN)/python tests/soak_pods.py --pods $(SOAK_PODS)
	@SOAK_EXAMPLES=$(SOAK_EXAMPLES) SOAK_CPU_SECONDS=$(SOAK_CPU_SECONDS) SOAK_SEED=$(SOAK_SEED) \
	  $(BIN)/python tests/soak.py

fuzz: $(READY) ## nonsense of every kind, for FUZZ_CPU_SECONDS (an hour): objects, answers, manifests, plugins
	@SOAK_EXAMPLES=$(SOAK_EXAMPLES) SOAK_CPU_SECONDS=$(or $(FUZZ_CPU_SECONDS),3600) SOAK_SEED=$(SOAK_SEED) \
	  $(BIN)/python tests/soak.py tests/fuzz

lock: $(READY) ## writes requirements.lock anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --group dev --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet -o requirements.lock

clean: ## removes what the targets made
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

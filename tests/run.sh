#!/usr/bin/env bash
# Every test of the project: the engine's own, then everything that is seen from Python. Quiet unless something fails.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd engine && cargo test --quiet --workspace --exclude headrace-py) >"$log" 2>&1; then
  cat "$log"
  exit 1
fi
grep -E '^test result' "$log" | awk '{passed += $4; failed += $6} END {printf "engine: %d passed, %d failed\n", passed, failed}'
"${BIN:-.venv/bin}/pytest" --quiet --no-header

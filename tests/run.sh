#!/usr/bin/env bash
# Tests of one layer or of all, quiet unless something fails: tests/run.sh [engine|pure|rest|postgresql|all] [pytest options, such as --durations=25]
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-all}
shift || true
bin=$PWD/.venv/bin

engine() { # CARGO_PROFILE: what CI builds everything with
  (cd engine && "$bin/cargo-nextest" nextest run --cargo-profile "${CARGO_PROFILE:-dev}" --workspace --show-progress none --cargo-quiet)
}

python() { # one worker for each processor; tests that share a server stay together
  "$bin/pytest" --quiet --no-header -n "$(nproc)" --dist loadgroup "$@"
}

case $part in
  engine) engine ;;
  pure) python tests/pure "$@" ;;
  rest) python tests --ignore tests/pure "$@" ;;
  postgresql) python --store postgresql tests/service/test_{store,consent,transfers,durable,budgets,policies,listing}.py "$@" ;;
  all) engine && python tests "$@" ;;
  *) echo "no such part: $part" >&2; exit 2 ;;
esac

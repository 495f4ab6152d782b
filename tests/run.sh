#!/usr/bin/env bash
# Tests of one layer or of all, quiet unless something fails: tests/run.sh [engine|pure|rest|postgresql|all] [pytest options, such as --durations=25]
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:-all}
shift || true
bin=$PWD/.venv/bin
# As the Makefile says: hundreds of processes start here, and each would compile all that it imports.
unset PYTHONDONTWRITEBYTECODE

engine() { # CARGO_PROFILE: what CI builds everything with
  (cd engine && "$bin/cargo-nextest" nextest run --cargo-profile "${CARGO_PROFILE:-dev}" --workspace --show-progress none --cargo-quiet)
}

python() { # workers for each processor, then what to run; tests that share a server stay together
  local each=$1
  shift
  "$bin/pytest" --quiet --no-header -n "$((each * $(nproc)))" --dist loadgroup "$@"
}

case $part in
  engine) engine ;;
  # Without the engine although it may be built here: CI runs this part before that.
  pure) python 1 -p tests.pure.without_engine tests/pure "$@" ;;
  # Two for each processor: most of these tests wait for nodes, disks and rates.
  rest) python 2 tests --ignore tests/pure "$@" ;;
  postgresql) python 2 --store postgresql tests/service/test_{store,consent,transfers,durable,budgets,policies,listing,throughput}.py "$@" ;;
  all) engine && python 2 tests "$@" ;;
  *) echo "no such part: $part" >&2; exit 2 ;;
esac

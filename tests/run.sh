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

python() { # workers, and what to run; tests that share a server stay together
  local workers=$1
  shift
  "$bin/pytest" --quiet --no-header -n "$workers" --dist loadgroup "$@"
}

cores=$(nproc)
waiting=$((cores + (cores + 1) / 2)) # tests with servers wait half of their time

case $part in
  engine) engine ;;
  pure) python "$cores" tests/pure "$@" ;;
  rest) python "$waiting" tests --ignore tests/pure "$@" ;;
  postgresql) python "$waiting" --store postgresql tests/service/test_{store,consent,transfers,durable,budgets,policies,listing}.py "$@" ;;
  all) engine && python "$waiting" tests "$@" ;;
  *) echo "no such part: $part" >&2; exit 2 ;;
esac

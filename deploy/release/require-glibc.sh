#!/usr/bin/env bash
# Refuse programs that need a newer glibc than a release promises: require-glibc.sh VERSION FILE...
set -euo pipefail
floor=$1
shift
for file in "$@"; do
  needs=$(readelf --version-info --wide "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
  newest=$(printf 'GLIBC_%s\n%s\n' "$floor" "$needs" | sort -V | tail -n 1)
  [ -n "$needs" ] && [ "$newest" = "GLIBC_$floor" ] || {
    echo "\`$file\` needs ${needs:-an unknown glibc}, and a release promises GLIBC_$floor at most; build it with zig (\`make wheels\`)" >&2
    exit 1
  }
done

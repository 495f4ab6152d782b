#!/bin/sh
# A compiler of what is fuzzed (RUSTC_WORKSPACE_WRAPPER): counters of the edges that ran, as cargo-fuzz sets them, in our own crates; nothing that
# needs a nightly compiler, as the engine has no unsafe code but system calls. Build scripts run without libFuzzer, so they get none.
set -eu
case " $* " in
*" --crate-name build_script"*) exec "$@" ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table -Clink-dead-code

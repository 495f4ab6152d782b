#!/usr/bin/env bash
# Write into a release's folder what it is made of (CycloneDX, for Python, Rust and npm), and the hash of every file: list-parts.sh FOLDER
# `cyclonedx-py` is in the PATH. The folder has the wheels, the node and requirements.txt (`make wheels`). The Rust parts are those that maturin wrote into the engine's wheel.
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "$0")/../.."
cyclonedx-py requirements --pyproject pyproject.toml --output-format JSON --output-file "$dist/python.cdx.json" "$dist/requirements.txt"
unzip -p "$dist"/headrace_engine-*.whl '*.dist-info/sboms/headrace-py.cyclonedx.json' >"$dist/engine.cdx.json"
# With what builds the console, which is marked so: without it, npm 11 leaves out React, too.
(cd web && npm sbom --silent --sbom-format cyclonedx --package-lock-only) >"$dist/console.cdx.json"
cd "$dist"
rm -f SHA256SUMS SHA256SUMS.sig
sha256sum -- * >../.headrace-sums
mv ../.headrace-sums SHA256SUMS

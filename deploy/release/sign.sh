#!/usr/bin/env bash
# Sign a release's hashes, after a look whether the files still have them: sign.sh KEY FOLDER
# KEY is an OpenSSH key of the releases: a private key's file, or the public one of a key that an agent or a token holds.
set -euo pipefail
key=$(realpath "$1")
cd "$2"
sha256sum --check --strict --quiet SHA256SUMS
rm -f SHA256SUMS.sig
ssh-keygen -q -Y sign -f "$key" -n headrace-release SHA256SUMS

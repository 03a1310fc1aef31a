#!/bin/sh
# Makes a release: tests and verifies the plugin, builds it, and makes one package of it.
# With REF, such as oci://registry.example.com/tools/notes, pushes the package there. KEY names the
# secret key to sign it with, see toolhost dev keygen.
# usage: [KEY=FILE] ./release.sh [REF]
set -eu
cd "$(dirname "$0")"
make clean test verify
"${TOOLHOST:-toolhost}" dev pack ${KEY:+--sign "$KEY"} ${1:+--push "$1"}

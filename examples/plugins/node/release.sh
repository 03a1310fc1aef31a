#!/bin/sh
# Makes a release of what plugin.yaml names: tests and verifies it, builds it, and
# makes one package. With REF, such as oci://registry.example.com/tools/notes, pushes that.
# usage: ./release.sh [REF]
set -eu
cd "$(dirname "$0")"
make clean test verify pack
if [ $# -gt 0 ]; then
	"${TOOLHOST:-toolhost}" plugin push dist/notes-*.tar "$1"
fi

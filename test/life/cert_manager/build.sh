#!/usr/bin/env bash
# Builds cert-manager from its Go module as the one program of main.go, and puts its definitions beside it.
#   build.sh VERSION FOLDER      for example: build.sh 1.21.2 ~/.cache/refit/cert-manager-1.21.2
# Does nothing when FOLDER is newer than main.go.
set -euo pipefail
version=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
program=$folder/certmanager
if [ -x "$program" ] && [ "$program" -nt "$here/main.go" ]; then
  echo "cert-manager $version: cached in $folder"
  exit 0
fi
if ! command -v go >/dev/null; then
  echo "cert-manager $version must be built, but there is no Go toolchain on the PATH. Install Go 1.26 or newer." >&2
  exit 2
fi

module=github.com/cert-manager/cert-manager
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here/main.go" .
printf 'module certmanager\ngo 1.26.0\nrequire %s v%s\n' "$module" "$version" >go.mod
go mod tidy >tidy.log 2>&1 || { tail -n 20 tidy.log >&2; exit 1; }
mkdir -p "$folder"
CGO_ENABLED=0 go build -ldflags "-s -w" -o "$program.partial" .
install -m 644 "$(go list -m -f '{{.Dir}}' "$module")"/deploy/crds/*.yaml "$folder"/
mv "$program.partial" "$program"
echo "cert-manager $version: built into $folder"

#!/usr/bin/env bash
# Builds the Kubernetes programs of the test cluster from their Go module, and the web server of its images (handover/).
#   build.sh VERSION FOLDER [PROGRAM...]      for example: build.sh 1.34.4 ~/.cache/refit/kubernetes-1.34.4
# With programs named, these alone, and no web server: build.sh 1.33.13 ~/.cache/refit/kubernetes-1.33.13 kube-apiserver
# Does nothing when FOLDER holds them already. Kubernetes keeps its libraries (k8s.io/api, ...) in its own tree and
# points to them by path; outside that tree each has to be replaced by its published twin, v0.MINOR.PATCH.
set -euo pipefail
version=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
programs=("${@:3}")
[ $# -gt 2 ] || programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
is_whole=$([ $# -gt 2 ] || echo yes)

complete=yes
for program in "${programs[@]}"; do [ -x "$folder/$program" ] || complete=no; done

build_handover() {
  [ -n "$is_whole" ] || return 0
  local source=$here/handover
  [ -z "$(find "$source" -newer "$folder/handover" 2>&1)" ] && return
  mkdir -p "$folder"
  (cd "$source" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$folder/handover.partial" .)
  mv "$folder/handover.partial" "$folder/handover"
}

if [ "$complete" = yes ]; then
  build_handover
  echo "kubernetes $version: cached in $folder"
  exit 0
fi
if ! command -v go >/dev/null; then
  echo "kubernetes $version must be built, but there is no Go toolchain on the PATH." >&2
  echo "Install Go 1.24 or newer, or set REFIT_CLUSTER_BIN to a folder with ${programs[*]}." >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
{
  echo '//go:build pinned'
  echo 'package pinned'
  for program in "${programs[@]}"; do echo "import _ \"k8s.io/kubernetes/cmd/$program\""; done
} >pinned.go
module_file=$(cd / && GOFLAGS=-mod=mod go mod download -json "k8s.io/kubernetes@v$version" |
  awk -F'"' '$2 == "GoMod" { print $4 }')
{
  echo 'module test-cluster'
  echo 'go 1.24'
  echo "require k8s.io/kubernetes v$version"
  awk -v version="v0.${version#*.}" '$2 == "=>" && $3 ~ /^\.\/staging\// { print "replace " $1 " => " $1 " " version }
    $1 == "replace" && $4 ~ /^\.\/staging\// { print "replace " $2 " => " $2 " " version }' "$module_file"
} >go.mod
go mod tidy >tidy.log 2>&1 || { tail -n 20 tidy.log >&2; exit 1; }

stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=${version%%.*} -X $stamp.gitMinor=$(cut -d. -f2 <<<"$version")"
mkdir -p "$folder.partial"
go build -tags pinned -ldflags "$flags" -o "$folder.partial/" "${programs[@]/#/k8s.io/kubernetes/cmd/}"
mkdir -p "$folder"
mv "$folder.partial"/* "$folder"/
rmdir "$folder.partial"
build_handover
echo "kubernetes $version: built into $folder"

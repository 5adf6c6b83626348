#!/usr/bin/env bash
# Makes the npm packages of a release: one package with the program for each system, and
# the package mcp-conform, whose optional dependencies they are, so that npm installs the
# right one.
# usage: pack.sh VERSION FOLDER-OF-GORELEASER OUT
# FOLDER-OF-GORELEASER contains mcp-conform_GOOS_GOARCH*/mcp-conform[.exe].
set -euo pipefail
version=${1:?VERSION}
built=$(realpath "${2:?FOLDER-OF-GORELEASER}")
mkdir -p "${3:?OUT}"
out=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

dependencies=
for goos in linux darwin windows; do
  for goarch in amd64 arm64; do
    os=${goos/windows/win32}
    cpu=${goarch/amd64/x64}
    program=mcp-conform
    [[ $goos != windows ]] || program+=.exe
    found=("$built/mcp-conform_${goos}_${goarch}"*/"$program")
    if [[ ! -f ${found[0]} ]]; then
      continue
    fi
    package=$work/$os-$cpu
    mkdir "$package"
    install -m 755 "${found[0]}" "$package/$program"
    cp "$root/LICENSE" "$package/"
    cat >"$package/package.json" <<JSON
{
  "name": "@mcp-conform/$os-$cpu",
  "version": "$version",
  "description": "The program mcp-conform for $os on $cpu",
  "license": "MIT",
  "repository": { "type": "git", "url": "git+https://github.com/mcp-conform/mcp-conform.git" },
  "files": ["$program", "LICENSE"],
  "os": ["$os"],
  "cpu": ["$cpu"]
}
JSON
    (cd "$package" && npm pack --silent --pack-destination "$out")
    dependencies+="${dependencies:+,} \"@mcp-conform/$os-$cpu\": \"$version\""
  done
done
if [[ -z $dependencies ]]; then
  echo "pack.sh: no program found in $built" >&2
  exit 1
fi
cp -r "$here/bin" "$here/package.json" "$root/LICENSE" "$root/README.md" "$work/"
sed -i.bak -e "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" -e "s|\"optionalDependencies\": {}|\"optionalDependencies\": {$dependencies }|" "$work/package.json"
rm "$work/package.json.bak"
(cd "$work" && npm pack --silent --pack-destination "$out")

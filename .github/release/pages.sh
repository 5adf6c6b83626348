#!/bin/sh
# usage: pages.sh VERSION DIR SECONDS
# Writes the manual pages and shell completions of a release into DIR. The pages have the
# date SECONDS, in seconds since 1970.
set -eu
version=$1 dir=$2
export SOURCE_DATE_EPOCH="$3"
rm -rf "$dir"
mkdir -p "$dir/completions"
go build -ldflags "-X github.com/mcp-conform/mcp-conform/internal/cli.release=$version" -o "$dir/mcp-conform" ./cmd/mcp-conform
"$dir/mcp-conform" man --dir "$dir/man"
for shell in bash zsh fish; do
  "$dir/mcp-conform" completion "$shell" >"$dir/completions/mcp-conform.$shell"
done
"$dir/mcp-conform" completion powershell >"$dir/completions/mcp-conform.ps1"
rm "$dir/mcp-conform"

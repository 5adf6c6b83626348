#!/usr/bin/env bash
# Finds out where mcp-conform comes from, and prints it as outputs of the step:
# version is the release to download, empty if the action's source is built, and
# key names that source in the cache. A release is chosen by the input version,
# else by the action's own reference: v1.2.3 is that release, v1 the latest one
# if it is a 1.x. Any other reference, such as a commit, is built.
set -euo pipefail

version=${MCP_CONFORM_VERSION:-}
ref=${MCP_CONFORM_REF:-}
releases=${GITHUB_SERVER_URL:-https://github.com}/mcp-conform/mcp-conform/releases
if [[ $version == source ]]; then
  version=
elif [[ -z $version && $ref =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then
  version=$ref
elif [[ -z $version && $ref =~ ^v[0-9]+$ ]]; then
  latest=$(curl -fsSL --retry 2 -o /dev/null -w '%{url_effective}' "${MCP_CONFORM_LATEST:-$releases/latest}" || true)
  latest=${latest##*/}
  [[ $latest != "$ref".* ]] || version=$latest
fi
# A release that the reference implies may not be there yet.
if [[ $version && -z ${MCP_CONFORM_VERSION:-} ]] &&
  ! curl -fsSL --retry 2 -o /dev/null "${MCP_CONFORM_RELEASES:-$releases/download}/$version/checksums.txt"; then
  version=
fi

key=
if [[ -z $version ]]; then
  if command -v sha256sum >/dev/null; then sum=(sha256sum); else sum=(shasum -a 256); fi
  key=mcp-conform-${RUNNER_OS:-Linux}-${RUNNER_ARCH:-X64}-$(
    cd "${GITHUB_ACTION_PATH:?}"
    find cmd internal suites reporters reference-server fixtures go.mod go.sum -type f -not -path '*/node_modules/*' -not -name '*_test.go' |
      LC_ALL=C sort | tr '\n' '\0' | xargs -0 cat | "${sum[@]}" | cut -c1-32
  )
fi
printf 'version=%s\nkey=%s\n' "$version" "$key" >>"${GITHUB_OUTPUT:?}"
echo "mcp-conform: ${version:-built from the source of the action}"

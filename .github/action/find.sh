#!/usr/bin/env bash
# Decides which mcp-conform to use, and sets the outputs of the step: version is the
# release to download, and empty if the action's source is built; key is the key of
# that source in the cache. The input version selects the release, otherwise the
# action's own reference does: v1.2.3 is that release, v1 the latest release if that
# is a 1.x. For any other reference, such as a commit, the source is built.
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
# The release that the reference implies may not be published yet.
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

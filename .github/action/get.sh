#!/usr/bin/env bash
# Puts mcp-conform into the PATH of later steps. If MCP_CONFORM_VERSION is set, it
# downloads that release and verifies the checksum. Otherwise it uses the cached
# program if MCP_CONFORM_CACHED is true, or builds the action's source.
set -euo pipefail

bin=${RUNNER_TEMP:?}/mcp-conform-bin
mkdir -p "$bin"
exe=
if [[ ${RUNNER_OS:-} == Windows ]]; then
  exe=.exe
fi

if [[ -z ${MCP_CONFORM_VERSION:-} && ${MCP_CONFORM_CACHED:-} == true ]]; then
  test -x "$bin/mcp-conform$exe"
elif [[ -z ${MCP_CONFORM_VERSION:-} ]]; then
  (cd "${GITHUB_ACTION_PATH:?}" && go build -trimpath -o "$bin/mcp-conform$exe" ./cmd/mcp-conform)
else
  if [[ ! $MCP_CONFORM_VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+[-.0-9A-Za-z]*$ ]]; then
    echo "::error title=mcp-conform::the input version is not a release such as v1.2.3"
    exit 2
  fi
  case ${RUNNER_OS:-Linux} in
    Linux) os=linux archive=tar.gz ;;
    macOS) os=darwin archive=tar.gz ;;
    Windows) os=windows archive=zip ;;
    *)
      echo "::error title=mcp-conform::there is no release for this system; set the input version to source to build it"
      exit 2
      ;;
  esac
  case ${RUNNER_ARCH:-X64} in
    X64) arch=amd64 ;;
    ARM64) arch=arm64 ;;
    *)
      echo "::error title=mcp-conform::there is no release for this processor; set the input version to source to build it"
      exit 2
      ;;
  esac
  base=${MCP_CONFORM_RELEASES:-${GITHUB_SERVER_URL:-https://github.com}/mcp-conform/mcp-conform/releases/download}/$MCP_CONFORM_VERSION
  name=mcp-conform_${MCP_CONFORM_VERSION#v}_${os}_$arch.$archive
  work=$(mktemp -d)
  curl -fsSL --retry 3 -o "$work/$name" "$base/$name"
  curl -fsSL --retry 3 -o "$work/checksums.txt" "$base/checksums.txt"
  if command -v sha256sum >/dev/null; then sum=(sha256sum); else sum=(shasum -a 256); fi
  wanted=$(awk -v name="$name" '$2 == name { print $1 }' "$work/checksums.txt")
  got=$("${sum[@]}" "$work/$name" | awk '{ print $1 }')
  if [[ -z $wanted || $wanted != "$got" ]]; then
    echo "::error title=mcp-conform::the checksum of $name is not that of the release"
    exit 2
  fi
  if [[ $archive == zip ]]; then
    unzip -qo "$work/$name" "mcp-conform$exe" -d "$bin"
  else
    tar -xzf "$work/$name" -C "$bin" "mcp-conform$exe"
  fi
  rm -rf "$work"
fi
if [[ $exe ]]; then
  cygpath -w "$bin" >>"${GITHUB_PATH:?}"
else
  echo "$bin" >>"${GITHUB_PATH:?}"
fi
"$bin/mcp-conform$exe" version

#!/usr/bin/env bash
# Judges the server that the action's inputs name, and sets the outputs of the step.
# Findings do not fail this step: end.sh fails the job after the reports are uploaded.
set -euo pipefail

out=${INPUT_OUT:-.mcp-conform}
mkdir -p "$out"
flags=(--out "$out")

if [[ -n ${INPUT_COMMAND:-} && -n ${INPUT_URL:-} ]]; then
  echo "::error title=mcp-conform::give either the input command or the input url"
  exit 2
fi
if [[ -z ${INPUT_COMMAND:-}${INPUT_URL:-} && ! -f mcp-conform.yaml ]]; then
  echo "::error title=mcp-conform::give the input command or url, or name the server in mcp-conform.yaml"
  exit 2
fi
case ${INPUT_FAIL_ON:-must} in
  must | should) flags+=(--fail-on "${INPUT_FAIL_ON:-must}") ;;
  never) ;;
  *)
    echo "::error title=mcp-conform::the input fail-on must be must, should or never"
    exit 2
    ;;
esac
[[ -z ${INPUT_REVISION:-} ]] || flags+=(--revision "${INPUT_REVISION// /}")
[[ -z ${INPUT_PROFILE:-} ]] || flags+=(--profile "${INPUT_PROFILE// /}")
[[ -z ${INPUT_BASELINE:-} ]] || flags+=(--baseline "$INPUT_BASELINE")
[[ ${INPUT_FUZZ:-off} == off ]] || flags+=(--fuzz "$INPUT_FUZZ")
[[ -z ${INPUT_START:-} ]] || flags+=(--start "$INPUT_START")
while IFS= read -r line; do
  line=${line%$'\r'}
  [[ -z $line ]] || flags+=("$line")
done <<<"${INPUT_ARGS:-}"

reports=",${INPUT_REPORT:-json},"
[[ ${INPUT_SARIF:-false} != true ]] || reports+="sarif,"
reports+="json,github,"
IFS=, read -ra names <<<"$reports"
seen=,
for name in "${names[@]}"; do
  name=${name// /}
  if [[ -n $name && $seen != *",$name,"* ]]; then
    seen+="$name,"
    flags+=(--report "$name")
  fi
done

target=(--)
if [[ -n ${INPUT_URL:-} ]]; then
  target=("$INPUT_URL")
elif [[ -z ${INPUT_COMMAND:-} ]]; then
  target=()
else
  if [[ ${RUNNER_OS:-} == Windows ]]; then
    target+=(bash -c "$INPUT_COMMAND")
  else
    target+=(sh -c "exec $INPUT_COMMAND")
  fi
fi

outputs=$(mktemp)
flags+=(--report "outputs=$outputs")
rm -f "$out/report.json" "$out/report.sarif"
status=0
mcp-conform run "${flags[@]}" ${target[@]+"${target[@]}"} || status=$?

folder=$(cd "$out" && pwd)
[[ ${RUNNER_OS:-} != Windows ]] || folder=$(cygpath -m "$folder")
{
  echo "exit-code=$status"
  echo "reports=$folder"
  [[ ! -f $out/report.sarif ]] || echo "sarif=$folder/report.sarif"
  if [[ -f $out/report.json ]]; then
    echo "json=$folder/report.json"
  else
    echo "verdict=not-judged" >"$outputs"
  fi
  # The reports do not distinguish a server that could not be reached from one that
  # could not be judged.
  if ((status == 3)); then
    sed 's/^verdict=.*/verdict=unreachable/' "$outputs"
  else
    cat "$outputs"
  fi
} >>"${GITHUB_OUTPUT:?}"

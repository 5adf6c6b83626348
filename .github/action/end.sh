#!/usr/bin/env bash
# Ends the step with the exit code of the run; with fail-on never, broken requirements
# do not fail it.
set -euo pipefail
if [[ ${FAIL_ON:-must} == never && ${EXIT_CODE:?} == 1 ]]; then
  exit 0
fi
exit "${EXIT_CODE:?}"

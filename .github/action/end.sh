#!/usr/bin/env bash
# Fails the step where the run found what is to fail it.
set -euo pipefail
if [[ ${FAIL_ON:-must} == never && ${EXIT_CODE:?} == 1 ]]; then
  exit 0
fi
exit "${EXIT_CODE:?}"

#!/bin/bash
# Judges servers.yaml with an array of 8 tasks, and merges their results when all
# have ended. The folder has to be on a file system that all nodes share.
#
#   sbatch slurm.sh
#
# A task that was killed or requeued continues where it stopped.
#SBATCH --job-name=mcp-sweep
#SBATCH --array=0-7
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --output=sweep-%a.log
set -euo pipefail

if [[ ${1:-} == merge ]]; then
  exec mcp-conform sweep merge --out all results
fi
if [[ ${SLURM_ARRAY_TASK_ID} == "${SLURM_ARRAY_TASK_MIN}" && ${SLURM_RESTART_COUNT:-0} == 0 ]]; then
  sbatch --job-name=mcp-merge --array=0 --output=merge.log \
    --dependency="afterok:${SLURM_ARRAY_JOB_ID}" "$0" merge
fi
# Two servers at once, each with at most 2 GiB: as much as --mem allows.
srun mcp-conform sweep --jobs 2 --memory 2GiB --out results servers.yaml

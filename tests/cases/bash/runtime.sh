#!/usr/bin/env bash
# reader only: what is known only when the job runs.
GPUS=$(nvidia-smi -L | wc -l)
WORLD=$((GPUS * 2))
HALF=$((8 / ZERO_IS_UNSET))
torchrun --nproc_per_node $GPUS a.py --world $WORLD --half $HALF --none $((1 / 0)) --octal $((08)) \
    --date "$(date +%s)" --random $RANDOM --name "run-$SLURM_JOB_ID-x" --unset $UNSET_NUMBER --last 1

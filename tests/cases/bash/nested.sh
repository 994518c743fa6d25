#!/usr/bin/env bash
# A command in a string in srun's bash, expanded when it is written or when it is run.
export LAUNCHER="torchrun --nproc_per_node 8"
export CMD="a.py --layers 24"
HIDDEN=512
srun --label bash -c '$LAUNCHER $CMD'
srun bash -c "$LAUNCHER --hidden $HIDDEN \$CMD 'one word'"
bash -c 'torchrun "$0" "$@"' first second "third word"

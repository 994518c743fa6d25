#!/bin/bash
set -o pipefail
RDZV_HOST=$(scontrol show hostnames "$SLURM_STEP_NODELIST" | head -1 || echo localhost)
torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$RDZV_HOST:15213 train.py

#!/bin/bash
TRUN_ARGS=()
TRUN_ARGS+=(--nnodes=4 --node-rank=${SLURM_NODEID:-0} --nproc-per-node=8)
TRUN_ARGS+=(--rdzv-backend=c10d --rdzv-endpoint=${SLURM_LAUNCH_NODE_IPADDR:-localhost}:15213)
torchrun "${TRUN_ARGS[@]}" train.py

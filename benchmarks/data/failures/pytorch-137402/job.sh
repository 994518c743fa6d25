#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
MASTER_NODE=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=29500
srun torchrun \
    --nproc_per_node 2 \
    --nnodes 2 \
    --master_addr $MASTER_NODE \
    --master_port $MASTER_PORT \
    --rdzv_endpoint $MASTER_NODE:$MASTER_PORT \
    --rdzv_backend c10d \
    --max-restarts 0 \
    train.py

#!/bin/bash
#SBATCH --job-name=Big simulation
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=02:00:00

srun --kill-on-bad-exit=1 torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint $(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1):$((10000 + SLURM_JOB_ID % 20000)) train.py

#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=8
#SBATCH --export=ALL,MASTER_PORT=29500
#SBATCH --export=ALL,NCCL_DEBUG=WARN
srun torchrun --nproc-per-node 8 --master-port $MASTER_PORT train.py

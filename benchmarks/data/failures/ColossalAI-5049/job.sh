#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --time=10:00:00

srun torchrun --nproc_per_node=8 --nnodes=1 --node_rank=0 --master_port=29601 pretrain.py --config 70b --batch_size 4

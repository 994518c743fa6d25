#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
srun --export=MASTER_PORT=29500 python train.py --output_dir out

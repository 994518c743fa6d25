#!/bin/bash
#SBATCH --ntasks=4
#SBATCH --partition=gpu
#SBATCH --time=12:00:00
#SBATCH --gres=
#SBATCH --no-requeue
srun python train.py --output_dir out

#!/bin/bash
set -euo pipefail
#SBATCH --job-name=qwen35vl-sft
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=04:00:00

srun --kill-on-bad-exit=1 python finetune.py

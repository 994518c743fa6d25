#!/bin/bash
export PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"
torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint="$HEAD_NODE:29500" -m torchtitan.train --job.config_file ./train.toml

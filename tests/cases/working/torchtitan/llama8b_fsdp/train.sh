#!/usr/bin/bash
set -ex
export PYTORCH_ALLOC_CONF="expandable_segments:True"
torchrun --nproc_per_node=8 --nnodes=1 --rdzv_backend c10d --rdzv_endpoint="localhost:0" \
    --local-ranks-filter 0 --role rank --tee 3 \
    -m torchtitan.train --job.config_file ./llama3_8b.toml

#!/bin/bash
torchrun --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint="localhost:0" -m torchtitan.train --job.config_file ./train.toml

#!/bin/bash
# 4 nodes of 8; what differs from the file stands in the command.
NODES=4
TP=8
STEPS=20000
torchrun --nnodes $NODES --nproc_per_node 8 --node_rank ${NODE_RANK:-0} --master_addr ${MASTER_ADDR:?} --master_port 29700 \
    -m torchtitan.train --job.config_file llama3_70b.toml \
    --parallelism.tensor_parallel_degree $TP \
    --training.steps $STEPS \
    --training.local_batch_size 4 \
    --training.global_batch_size 64 \
    --metrics.log_freq 20

#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 16 --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port 6000 pretrain_gpt.py \
    --num-layers 80 \
    --hidden-size 8192 \
    --num-attention-heads 64 \
    --seq-length 2048 \
    --max-position-embeddings 2048 \
    --micro-batch-size 2 \
    --global-batch-size 256 \
    --train-iters 50000 \
    --lr 1.5e-4 \
    --tokenizer-type GPT2BPETokenizer \
    --vocab-file gpt2-vocab.json \
    --merge-file gpt2-merges.txt \
    --data-path my-gpt2_text_document \
    --bf16 \
    --pipeline-model-parallel-size 16 \
    --tensor-model-parallel-size 8 \
    --sequence-parallel \
    --num-layers-per-virtual-pipeline-stage 2

#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
deepspeed --num_gpus 8 pretrain_gpt.py \
    --num-layers 24 \
    --hidden-size 1024 \
    --num-attention-heads 16 \
    --seq-length 2050 \
    --max-position-embeddings 2050 \
    --micro-batch-size 2 \
    --global-batch-size 64 \
    --train-iters 50000 \
    --lr 1.5e-4 \
    --tokenizer-type GPT2BPETokenizer \
    --vocab-file gpt2-vocab.json \
    --merge-file gpt2-merges.txt \
    --data-path my-gpt2_text_document \
    --ds-sequence-parallel-size 4 \
    --zero-stage 3 \
    --no-pipeline-parallel \
    --fp16 \
    --deepspeed \
    --deepspeed_config ds_config.json

#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
deepspeed --num_gpus 4 pretrain_gpt.py \
    --num-layers 24 \
    --hidden-size 1024 \
    --num-attention-heads 16 \
    --seq-length 2048 \
    --max-position-embeddings 2048 \
    --micro-batch-size 2 \
    --global-batch-size 64 \
    --train-iters 50000 \
    --lr 1.5e-4 \
    --tokenizer-type GPT2BPETokenizer \
    --vocab-file gpt2-vocab.json \
    --merge-file gpt2-merges.txt \
    --data-path my-gpt2_text_document \
    --pipeline-model-parallel-size 2 \
    --zero-stage 2 \
    --deepspeed \
    --deepspeed_config ds_config.json \
    --fp16

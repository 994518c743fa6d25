#!/bin/bash
torchrun --nproc_per_node 8 pretrain_bert.py \
    --num-layers 24 \
    --hidden-size 1024 \
    --num-attention-heads 16 \
    --max-position-embeddings 512 \
    --micro-batch-size 2 \
    --global-batch-size 256 \
    --train-iters 50000 \
    --lr 1.5e-4 \
    --vocab-file bert-vocab.txt \
    --data-path my-bert_text_sentence \
    --fp16 \
    --split 949,50,1

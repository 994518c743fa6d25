#!/bin/bash
deepspeed --num_gpus 8 align_train.py \
    --deepspeed ./zero2.json \
    --output_dir out

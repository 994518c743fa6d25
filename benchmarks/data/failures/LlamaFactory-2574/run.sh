#!/bin/bash
mpirun -np 16 python src/train_bash.py \
    --stage sft \
    --do_train \
    --output_dir out \
    --per_device_train_batch_size 1 \
    --deepspeed ds_config.json

#!/bin/bash
set -x
NUM_GPUS=8
accelerate launch --config_file fsdp.yaml --num_processes $NUM_GPUS \
    train.py \
    --model_name_or_path Qwen/Qwen3-8B \
    --data_path /data/tokens.bin \
    --output_dir out \
    --bf16 True \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 2 \
    --learning_rate 2e-5 \
    --max_steps 5000 \
    --warmup_steps 50 \
    --lr_scheduler_type cosine_with_min_lr \
    --lr_scheduler_kwargs '{"min_lr": 1e-6}' \
    --logging_steps 10 \
    --save_steps 1000 \
    --report_to none

#!/bin/bash
torchrun --nproc_per_node=8 --master_port=3045 train.py --model_name_or_path llama \
    --data_path ./data/code_alpaca_20k.json \
    --output_dir ./output \
    --fp16 True \
    --num_train_epochs 3 \
    --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 4 \
    --learning_rate 2e-5 \
    --deepspeed ds_config.json

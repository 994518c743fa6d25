#!/bin/bash
# Two nodes: start it on each with its rank.
accelerate launch --config_file accelerate.yaml --machine_rank "${RANK_OF_NODE:-0}" train.py \
    --model_name_or_path meta-llama/Llama-3.1-8B \
    --data_path /data/tokens.bin --max_length 4096 \
    --output_dir /runs/sft --bf16 \
    --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --gradient_checkpointing \
    --learning_rate 1e-5 --lr_scheduler_type cosine --num_train_epochs 1 \
    --logging_steps 5 --save_strategy steps --save_steps 200 --report_to none

#!/bin/bash
deepspeed --num_nodes 1 --num_gpus 8 train.py --output_dir out --bf16 True --learning_rate 1e-5 \
  --model_name_or_path Qwen/Qwen3-30B-A3B --deepspeed ds.json \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 4

#!/bin/bash
deepspeed --num_gpus 1 --master_port=9901 src/train_bash.py \
    --model_name_or_path Baichuan2-13B-Chat \
    --stage sft \
    --do_train \
    --finetuning_type lora \
    --output_dir ./output/baichuan2-13b \
    --per_device_train_batch_size 4 \
    --fp16

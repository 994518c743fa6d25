#!/bin/bash
CUDA_VISIBLE_DEVICES=1,2 torchrun --nproc_per_node 2 supervised_finetuning.py \
    --model_type chatglm \
    --model_name_or_path chatglm2-6b \
    --do_train \
    --use_peft False \
    --per_device_train_batch_size 2 \
    --learning_rate 2e-5 \
    --gradient_accumulation_steps 8 \
    --output_dir outputs-sft \
    --deepspeed deepspeed_config.json

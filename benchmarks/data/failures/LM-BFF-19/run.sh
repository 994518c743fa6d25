#!/bin/bash
python run.py \
    --model_name_or_path bert-base-cased \
    --do_train --do_eval \
    --per_device_train_batch_size 16 \
    --output_dir out \
    --evaluate_during_training

#!/bin/bash
torchrun --nproc_per_node 2 run_glue.py \
    --model_name_or_path bert-base-cased \
    --do_train --do_eval \
    --per_device_train_batch_size 16 \
    --output_dir out \
    --evaluation_strategy no \
    --save_strategy epoch \
    --load_best_model_at_end True

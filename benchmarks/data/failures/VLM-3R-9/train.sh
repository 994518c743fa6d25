#!/bin/bash
accelerate launch \
    --num_processes=4 \ # GPUs of this node
    -m llava.train --output_dir out --per_device_train_batch_size 1

#!/bin/bash
deepspeed --num_gpus 4 main.py --deepspeed ds_config.json --output_dir out --per_device_train_batch_size 4 --learning_rate 1e-4

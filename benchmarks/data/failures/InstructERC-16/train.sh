#!/bin/bash
deepspeed --num_gpus=8 --master_port=29500 main_new.py --deepspeed_config deepspeed_config.json --output_dir out

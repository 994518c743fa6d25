#!/bin/bash
NUM_GPUS=8
deepspeed --num_gpus $NUM_GPUS train_enwik8.py --deepspeed --deepspeed_config configs/base_deepspeed.json

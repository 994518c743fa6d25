#!/bin/bash
accelerate launch \
    --config_file sft.yaml \
    --num_processes 8 \   
    --num_machines 1 \
    --machine_rank 0 \
    --deepspeed_multinode_launcher standard scripts/finetune.py \
    --output_dir ./ckpts \   
    --learning_rate 5e-5

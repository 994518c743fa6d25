accelerate launch --mixed_precision bf16 train.py --deepspeed ds_config.json

deepspeed --hostfile hostfile train.py --deepspeed --deepspeed_config ds_config.json

deepspeed --include localhost:0,1 --num_gpus 2 train.py --deepspeed --deepspeed_config ds_config.json

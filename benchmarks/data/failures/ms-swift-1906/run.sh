pip install deepspeed==0.12.3
deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config ds_config.json

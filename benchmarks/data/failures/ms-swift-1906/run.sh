pip install deepspeed==0.12.2
deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config ds_config.json

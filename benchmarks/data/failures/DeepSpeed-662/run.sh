CUDA_VISIBLE_DEVICES=1 deepspeed --num_gpus 1 train.py --deepspeed --deepspeed_config ds_config.json

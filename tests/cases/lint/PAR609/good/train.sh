torchrun --nnodes 2 --nproc-per-node 8 train.py --deepspeed --deepspeed_config ds_config.json

deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \
    --no-pipeline-parallel \
    --deepspeed \
    --zero-stage 3 --deepspeed_config ds_config.json --cpu-optimizer

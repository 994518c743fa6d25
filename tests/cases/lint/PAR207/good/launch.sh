deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds_config.json \
    --no-pipeline-parallel \
    --micro-batch-size 8 --global-batch-size 64

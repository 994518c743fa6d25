deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --num-layers 24 \
    --pipeline-model-parallel-size 2 --deepspeed \
    --zero-stage 1

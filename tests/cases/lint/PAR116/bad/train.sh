deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 1536 \
    --num-attention-heads 12 \
    --seq-length 4096 --ds-sequence-parallel-size 8 --deepspeed

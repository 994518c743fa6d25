torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \
    --hidden-size 3072 \
    --num-attention-heads 24 --group-query-attention --num-query-groups 6

torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers thirty-two \
    --moe-token-dispatcher-type alltoall_seq

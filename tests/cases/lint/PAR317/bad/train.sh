torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-experts 8 \
    --moe-router-topk 16

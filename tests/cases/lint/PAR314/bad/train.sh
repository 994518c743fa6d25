torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 28 --num-experts 64 \
    --moe-layer-freq "([0]*1+[1]*26)"

torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --sequence-parallel \
    --num-layers 32 \
    --hidden-size 4096 \
    --disable-bias-linear --num-experts 8 --moe-ffn-hidden-size 1408 --expert-tensor-parallel-size 4

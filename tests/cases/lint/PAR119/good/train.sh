torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \
    --num-layers 32 \
    --num-experts 8 --expert-tensor-parallel-size 2 --disable-bias-linear

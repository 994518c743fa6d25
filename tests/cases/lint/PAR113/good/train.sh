torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \
    --hidden-size 4096 \
    --num-attention-heads 32 --ffn-hidden-size 11008 --swiglu

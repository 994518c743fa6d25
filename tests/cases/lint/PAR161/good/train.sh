export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \
    --global-batch-size 64 --micro-batch-size 1 --bf16 \
    --use-distributed-optimizer

export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --train-iters 1000 --tensor-model-parallel-size 2 \
    --num-attention-heads 32

export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-attention-heads 32 \
    --tensor-model-parallel-size 2 --context-parallel-size 4 --cp-comm-type a2a \
    --group-query-attention --num-query-groups 4

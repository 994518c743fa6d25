NPROC_PER_NODE=8 NNODES=4 NODE_RANK=$RANK \
megatron sft \
    --load ZhipuAI/GLM-4.5-Air-Base-mcore \
    --num_layers 46 \
    --tensor_model_parallel_size 8 \
    --pipeline_model_parallel_size 4 \
    --sequence_parallel true \
    --micro_batch_size 2 \
    --global_batch_size 16 \
    --lr 1e-4 \
    --max_length 4096

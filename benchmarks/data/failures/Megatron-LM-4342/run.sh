export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 4 --nnodes 1 --master_addr localhost --master_port 6000 pretrain_gpt.py \
    --num-layers 12 --hidden-size 512 --num-attention-heads 8 \
    --seq-length 1024 --max-position-embeddings 1024 \
    --num-experts 8 --expert-model-parallel-size 2 --moe-router-topk 2 \
    --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --sequence-parallel \
    --use-distributed-optimizer \
    --num-distributed-optimizer-instances 2 \
    --micro-batch-size 4 --global-batch-size 32 --train-iters 50 --lr 0.00015 \
    --tokenizer-type NullTokenizer --vocab-size 32000 --mock-data --bf16

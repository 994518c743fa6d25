export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 1 --master_addr localhost --master_port 6000 pretrain_gpt.py \
    --num-layers 30 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 1024 --max-position-embeddings 1024 \
    --pipeline-model-parallel-size 4 \
    --micro-batch-size 4 --global-batch-size 64 --train-iters 50 --lr 0.00015 \
    --tokenizer-type NullTokenizer --vocab-size 32000 --mock-data --bf16

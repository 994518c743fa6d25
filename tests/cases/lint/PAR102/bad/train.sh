torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 1 \
    --pipeline-model-parallel-size 4 --num-layers 32 --num-experts 8 --expert-model-parallel-size 8

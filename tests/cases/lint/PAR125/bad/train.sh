torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 16 --pipeline-model-parallel-size 4 \
    --pipeline-model-parallel-layout "Et*4|t*4|t*4|t*3L"

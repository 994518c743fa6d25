# parc: ignore[PAR104] measured: 16 is faster on this fabric
set -e
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \
    --tensor-model-parallel-size 8

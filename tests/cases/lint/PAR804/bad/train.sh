torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers $1 --hidden-size $2 --seq-length $3

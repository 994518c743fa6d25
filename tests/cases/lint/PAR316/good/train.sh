torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --lr 1e-4 --min-lr 1e-5

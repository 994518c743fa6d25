torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 64 --hidden-size 11600 --num-attention-heads 80

torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 8192 --max-position-embeddings 4096

torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size $TP_SIZE --bf16

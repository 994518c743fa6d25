FORCE_TORCHRUN=1 NNODES=3 RANK=1 MASTER_ADDR=$(hostname -i) MASTER_PORT=29500 llamafactory-cli train qwen_full_sft.yaml

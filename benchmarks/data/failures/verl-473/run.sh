python3 -m verl.trainer.main_generation \
    trainer.nnodes=1 \
    trainer.n_gpus_per_node=2 \
    data.path=$HOME/data/hle/all.parquet \
    data.n_samples=1 \
    data.batch_size=1 \
    data.output_path=$HOME/out.parquet \
    model.path=deepseek-ai/DeepSeek-R1-Distill-Qwen-14B \
    rollout.tensor_model_parallel_size=2 \
    rollout.gpu_memory_utilization=0.8

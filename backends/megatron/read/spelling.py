"""Names of Megatron-LM's options in older versions and in forks -> today's names.

Read in the argument parsers of Megatron-LM v1.0 to core 0.20, Megatron-DeepSpeed, BigScience's and BigCode's
forks, epfLLM's Megatron-LLM, Pai-Megatron-Patch and ms-swift. `_` counts as `-`.
"""

#: As it is written -> as Megatron-LM calls it today.
NAMES = {
    "--model-parallel-size": "--tensor-model-parallel-size",
    "--intra-layer-model-parallel-size": "--tensor-model-parallel-size",
    "--tensor-parallel-size": "--tensor-model-parallel-size",
    "--inter-layer-model-parallel-size": "--pipeline-model-parallel-size",
    "--pipeline-parallel-size": "--pipeline-model-parallel-size",
    "--virtual-pipeline-model-parallel-size": "--num-virtual-stages-per-pipeline-rank",
    "--moe-expert-parallel-size": "--expert-model-parallel-size",
    "--expert-parallel-size": "--expert-model-parallel-size",
    "--num-moe-experts": "--num-experts",
    "--batch-size": "--micro-batch-size",
    "--encoder-seq-length": "--seq-length",
    "--encoder-num-layers": "--num-layers",
    "--max-length": "--seq-length",
    "--use-distributed-optim": "--use-distributed-optimizer",
}
#: The degree of tensor parallelism as Megatron-LM 1 spells it, and no later release.
FIRST_DEGREE = "--model-parallel-size"
#: Numbers of key and value heads that count without --group-query-attention.
KV_HEADS = (
    "--num-key-value-heads",
    "--num-attention-heads-kv",
    "--num-kv-heads",
    "--n-kv-heads",
)
#: The degree of Megatron-DeepSpeed's sequence parallelism (Ulysses).
ULYSSES = "--ds-sequence-parallel-size"
#: Switches that recompute whole layers.
RECOMPUTE_ALL = ("--checkpoint-activations",)
#: Options that recompute whole layers when they have a value: the method was once all there was.
RECOMPUTE_METHOD = "--activations-checkpoint-method"
RECOMPUTE_GRANULARITY = ("--recompute-granularity", "--activations-checkpoint-granularity")
#: Switches and options that turn on FP8 in matmuls.
FP8 = ("--fp8-format", "--fp8-hybrid", "--fp8-e4m3", "--fp8")
#: The option that turns on FP4 in matmuls; --fp4-recipe is nvfp4 unless given.
FP4 = "--fp4-format"

#: Options that only Megatron and its forks have: a command with two of them is theirs.
_TELLING_WORDS = """--tensor-model-parallel-size --pipeline-model-parallel-size --num-layers --hidden-size
    --num-attention-heads --micro-batch-size --global-batch-size --seq-length --max-position-embeddings
    --train-iters --train-samples --train-tokens --use-distributed-optimizer --context-parallel-size
    --expert-model-parallel-size --ffn-hidden-size"""
TELLING = frozenset(_TELLING_WORDS.split())
#: An option of Hugging Face TrainingArguments that no Megatron has: a command with it is the Trainer's, whose
#: program may have a `--batch_size` and a `--max_length` of its own.
TRAINERS = "--per-device-train-batch-size"
#: Switches: what stands behind them is no value of theirs.
_SWITCHES_WORDS = """--bf16 --fp16 --sequence-parallel --use-distributed-optimizer --use-flash-attn --swiglu
    --untie-embeddings-and-output-weights --disable-bias-linear --group-query-attention --use-mcore-models
    --overlap-grad-reduce --overlap-param-gather --checkpoint-activations --recompute-activations
    --deepspeed --no-pipeline-parallel --cpu-optimizer --deepspeed-activation-checkpointing --mock-data
    --use-rotary-position-embeddings --moe-grouped-gemm --multi-latent-attention --no-load-optim
    --no-load-rng --no-save-optim --no-save-rng --log-throughput --use-megatron-fsdp --use-torch-fsdp2
    --tp-comm-overlap --finetune --calculate-per-token-loss --manual-gc --qk-layernorm"""
SWITCHES = frozenset(_SWITCHES_WORDS.split())
#: Facts of which ms-swift has defaults that are not Megatron-LM's (its megatron_args.py).
SWIFTS_OWN = ("precision", "recompute", "distributed_optimizer", "sharding")
#: Stages of --data-parallel-sharding-strategy.
SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}

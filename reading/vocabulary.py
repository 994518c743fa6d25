"""The names of facts, each with one line of doc: the compiler's and the language's names, and a few that only
launch files have."""

#: Names of the compiler's `Layout` and of a `cluster` block, and two sums over them: `gpus` and `dp`.
LAYOUT = {
    "nodes": "nodes of the job",
    "gpus_per_node": "processes, and so GPUs, on each node",
    "gpus": "processes of the job: nodes * gpus_per_node",
    "tp": "tensor parallel degree",
    "pp": "pipeline parallel degree",
    "vpp": "virtual pipeline stages per rank",
    "cp": "context parallel degree",
    "ep": "expert parallel degree",
    "etp": "tensor parallel degree inside an expert",
    "dp": "data parallel degree; `invalid` where the other degrees do not divide the GPUs",
    "dp_replicate": "replicas of the sharded group",
    "dp_shard": "ranks that a replica is sharded over; -1 for those that are left",
    "zero": "ZeRO stage; `none` where DeepSpeed is not switched on",
    "hpz": "ranks of DeepSpeed's secondary partition",
    "order": "order of passes: 1f1b (interleaved with vpp), gpipe, interleaved_zb, zbv or dualpipev",
    "micro_batch": "sequences of a rank's micro-batch; in torchtitan's files the local batch",
    "microbatches": "micro-batches of a step on one rank",
    "recompute": "what the backward pass computes again: none, selective, fine or full",
    "offload": "what lies in host memory: none, optimizer or all",
}
#: Settings of the `model` and `train` blocks.
JOB = {
    "layers": "transformer blocks",
    "hidden": "width of the residual stream",
    "heads": "query heads",
    "kv_heads": "key and value heads",
    "experts": "routed experts per MoE layer",
    "seq_len": "tokens in a sequence",
    "global_batch": "sequences per step",
    "precision": "of matrix products, such as `bf16`, `bf16+fp8` or `fp16=auto`",
}
#: Facts for which a plan has no variable: it has another name there, or follows from others.
LAUNCH_FILES_ONLY = {
    "ulysses": "DeepSpeed's sequence parallel degree, which a plan counts as `cp`",
    "sharding": "what FSDP or Megatron-LM's own options shard, counted as a ZeRO stage",
    "pipeline_micro_batch": "sequences of torchtitan's pipeline micro-batch, a part of its local batch",
    "pods": "pods of a Kubernetes job that have GPUs",
    "gpus_per_pod": "GPUs of each pod: the limit of its container",
    "rampup": "Megatron-LM's ramp of the batch: start, increment, samples",
    "sequence_parallel": "Megatron-LM's switch; a plan has it above tp 1 unless the job does without",
    "distributed_optimizer": "Megatron-LM's switch; a plan has it from `zero` 1 on",
}
#: What a header asks SLURM for; the names begin with `slurm_` where the job's framework is known.
SLURM = {
    "nodes": "nodes",
    "gpus_per_node": "GPUs of each node",
    "tasks_per_node": "tasks on each node",
    "tasks": "tasks of the job",
}
FACTS = LAYOUT | JOB | LAUNCH_FILES_ONLY | {f"slurm_{name}": doc for name, doc in SLURM.items()}

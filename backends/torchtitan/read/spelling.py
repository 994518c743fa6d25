"""Keys of torchtitan's TOML before 0.2, flavors, schedules -> 0.2.2's keys, models, the compiler's words.

Read in torchtitan's config_manager.py between May 2024 and September 2025, which named things three times:
degrees in [training] and [experimental], then in [parallelism]; `batch_size`, then `local_batch_size`.
"""

#: As it was -> as 0.2.2 has it.
KEYS = {
    "training.batch_size": "training.local_batch_size",
    "training.data_parallel_degree": "parallelism.data_parallel_shard_degree",
    **{
        f"{section}.{key}": f"parallelism.{key}"
        for section in ("training", "experimental")
        for key in (
            "data_parallel_replicate_degree",
            "data_parallel_shard_degree",
            "tensor_parallel_degree",
            "pipeline_parallel_degree",
            "pipeline_parallel_schedule",
            "context_parallel_degree",
            "expert_parallel_degree",
            "enable_async_tensor_parallel",
        )
    },
}
#: Switches that turned on float8 in linear layers before `model.converters` did.
FLOAT8 = ("float8.enable_float8_linear", "training.enable_fp8_linear", "training.fp8_linear")
#: Schedules by torch's name, which it reads in any case -> the order of passes in the compiler's words.
ORDERS = {
    "1f1b": "1f1b",
    "interleaved1f1b": "1f1b",
    "gpipe": "gpipe",
    "interleavedzerobubble": "interleaved_zb",
    "zbvzerobubble": "zbv",
    "dualpipev": "dualpipev",
}
#: Model and flavor -> definition of the standard library with the same sizes.
FLAVORS = {
    ("llama2", "7B"): "llama2_7b",
    ("llama2", "13B"): "llama2_13b",
    ("llama2", "70B"): "llama2_70b",
    ("llama3", "8B"): "llama3_8b",
    ("llama3", "70B"): "llama3_70b",
    ("llama3", "405B"): "llama3_405b",
    ("deepseek_v3", "671B"): "deepseek_v3",
    ("qwen3", "8B"): "qwen3_8b",
    ("qwen3", "32B"): "qwen3_32b",
    ("qwen3", "30B-A3B"): "qwen3_30b_a3b",
}

"""Pages of rules that rows of DeepSpeed are: what, why, a file that fails and one that passes."""

from collections.abc import Mapping

PAGES: Mapping[str, str] = {
    "PAR405": """\
Offload of the weights works with ZeRO 3 alone, offload of the optimizer from ZeRO 1 on; partial offload
(`ratio` below 1) needs ZeRO 3.

Why:
DeepSpeed accepts the pair and does not offload, so the job runs out of memory that it was meant to save.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}
}
""",
    "PAR417": """\
Offload to NVMe without the folder to use.

Why:
DeepSpeed loads the config and fails when it opens the first file.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme"}}
}
""",
    "PAR418": """\
A key that does nothing at this ZeRO stage, or beside another key.

Why:
DeepSpeed loads it without a word: quantized weights below ZeRO 3 are not quantized; bf16 beside
torch_autocast trains in one of the two; without data_parallel_size a sequence_parallel_size builds no
groups in deepspeed.initialize.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 2, "zero_quantized_weights": true}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "zero_quantized_weights": true}
}
""",
}

"""Rows in the form of the published runs' CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.accuracy.rows.csv_rows import Row, row_of

#: GPT-7.5B of Narayanan et al. 2021, table 1, in the form of the CSV.
GOOD = {
    "id": "one", "source": "Megatron SC21 Table 1", "where": "paper", "model": "GPT-7.5B", "layers": "36",
    "hidden": "4096", "heads": "32", "kv_heads": "32", "ffn_hidden": "16384", "gated_mlp": "0",
    "vocab": "51200", "seq_len": "2048", "experts": "", "topk": "", "moe_ffn_hidden": "", "params_b": "7.5",
    "gpu": "A100-80", "gpus": "128", "gpus_per_node": "8", "tp": "4", "sp": "0", "pp": "1", "vpp": "1",
    "cp": "1", "ep": "", "dp": "32", "zero_stage": "0", "fsdp_shard_group": "", "mbs": "16", "gbs": "512",
    "recompute": "full", "precision": "fp16", "attention": "unfused", "offload": "0",
    "tflops_per_gpu": "142", "flops_convention": "hardware", "mfu": "", "step_time_s": "",
    "tokens_per_s_per_gpu": "", "mem_gb": "", "oom": "0", "notes": "", "framework": "megatron-lm",
    "framework_version": "2021-04", "gpu_part": "", "attention_kernel": "", "norm_kernel": "",
    "tp_overlap": "", "dp_overlap": "", "grad_dtype": "", "fp8_recipe": "", "cuda_graph": "",
    "dense_layers": "", "mtp_layers": "",
}  # fmt: skip


def write(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(
            file, fieldnames=list({**GOOD, **{k: "" for r in rows for k in r}}), restval=""
        )
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(**change: str) -> Row:
    return row_of({**GOOD, **change})

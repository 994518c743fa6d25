"""A row of a fine-tuning table -> the rows that it may stand for: each value of a setting that it leaves
open, with its chance. Chances are judged, from defaults of frameworks and from reports; none is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.accuracy.rows.tuning_rows import TuningRow

#: Values of a column with their shares.
Shares = tuple[tuple[float, Any], ...]
#: Frameworks that are Megatron-LM underneath.
MEGATRON = ("megatron", "nemo", "gpt-neox")
#: Tokens of a sequence, and sequences of a micro-batch, where a row names none.
LENGTHS: Shares = ((0.25, 512.0), (0.25, 1024.0), (0.35, 2048.0), (0.15, 4096.0))
BATCHES: Shares = ((0.5, 1.0), (0.2, 2.0), (0.2, 4.0), (0.1, 8.0))
LARGE_BATCHES: Shares = ((0.8, 1.0), (0.2, 2.0))
#: Lengths of samples with images: one of Qwen2-VL's may be 16,384 tokens (its processor's max_pixels).
IMAGE_LENGTHS: Shares = ((0.3, 1024.0), (0.3, 2048.0), (0.2, 4096.0), (0.2, 16384.0))
#: Defaults of a framework: llama-recipes' sequences (configs/training.py: batch_size_training), and the
#: tokens to which verl fills a micro-batch (trainer/config: ppo_max_token_len_per_gpu).
FRAMEWORK_BATCHES: dict[str, Shares] = {
    "llama-recipes": ((0.3, 1.0), (0.7, 4.0)),
    # trainers/arguments.py: per_device_train_batch_size.
    "ms-swift": ((0.8, 1.0), (0.2, 2.0)),
    # The notebooks and examples of both.
    "unsloth": ((0.3, 1.0), (0.6, 2.0), (0.1, 4.0)),
    "axolotl": ((0.4, 1.0), (0.5, 2.0), (0.1, 4.0)),
}
VERL_TOKENS = 16384
#: Frameworks that checkpoint layers unless told otherwise (ms-swift, Unsloth's loader, LLaMA-Factory, verl,
#: prime-rl; llama-recipes under FSDP; TRL from 0.24 on), and the share of runs that leave it so.
CHECKPOINTING = (
    "ms-swift", "unsloth", "llama-factory", "verl", "prime-rl", "llama-recipes", "arctic-training",
)  # fmt: skip
#: Chances of checkpointing: by such a default; of a quantized base, whose preparation switches it on (peft,
#: utils/other.py: prepare_model_for_kbit_training); where little else would hold the model; else, as
#: transformers leaves it off (training_args.py: gradient_checkpointing).
BY_DEFAULT, QUANTIZED, NEEDED, ELSE = 0.95, 0.8, 0.6, 0.3
#: Models and sequences from which on checkpointing is needed.
LONG = 4096
#: Until this month transformers had no other kernel than eager attention, unless a script put one in
#: (4.36 brought torch's own); the share of runs without, and on cards that FlashAttention 2 does not know.
EAGER_UNTIL, EAGER, EAGER_ON_OLD = "2023-12", 0.7, 0.95
OLD = ("V100", "T4", "P100", "RTX2080Ti", "TITAN-RTX", "RTX8000")
#: Frameworks whose models are transformers'.
TRANSFORMERS = ("transformers", "trl", "peft", "llama-recipes", "axolotl", "deepspeed")
#: What is tuned where a row does not say.
TUNES: Shares = ((0.5, "full"), (0.4, "lora"), (0.1, "qlora"))
#: Layouts of several GPUs where a row names none.
FULL_LAYOUTS: Shares = ((0.4, "zero3"), (0.3, "fsdp1"), (0.2, "zero2"), (0.1, "ddp"))
ADAPTER_LAYOUTS: Shares = ((0.7, "ddp"), (0.2, "zero3"), (0.1, "device_map"))


def completed(row: TuningRow, large: bool) -> Iterator[tuple[float, TuningRow]]:
    """Rows without open settings, with the chance of each; `large` models are trained in small batches."""
    choices = _choices(row, large)
    for chosen in itertools.product(*choices.values()):
        share = 1.0
        for each, _ in chosen:
            share *= each
        values = {name: value for name, (_, value) in zip(choices, chosen, strict=True)}
        yield share, replace(row, **values)


def _choices(row: TuningRow, large: bool) -> dict[str, Shares]:
    """The columns that a row leaves open."""
    found: dict[str, Shares] = {}
    if not row.tune:
        found["tune"] = TUNES
    if row.seq_len is None:
        found["seq_len"] = IMAGE_LENGTHS if "-VL" in row.model else LENGTHS
    if row.micro_batch is None:
        found["micro_batch"] = _batches(row, large)
    if row.gradient_checkpointing is None:
        chance = _checkpointing(row, large)
        found["gradient_checkpointing"] = ((chance, 1.0), (1 - chance, 0.0))
    if not row.attention and row.framework in TRANSFORMERS and "2000" < row.date < EAGER_UNTIL:
        eager = EAGER_ON_OLD if row.gpu.startswith(OLD) else EAGER
        found["attention"] = ((eager, "eager"), (1 - eager, "flash"))
    several = (row.gpus or 1) > 1
    if not row.parallel and several and not row.framework.startswith(MEGATRON):
        found["parallel"] = FULL_LAYOUTS if row.tune == "full" else ADAPTER_LAYOUTS
    return found


def _batches(row: TuningRow, large: bool) -> Shares:
    if row.framework == "verl":
        return ((1.0, max(1.0, VERL_TOKENS // (row.seq_len or 1024))),)
    if large:
        return LARGE_BATCHES
    return FRAMEWORK_BATCHES.get(row.framework, BATCHES)


def _checkpointing(row: TuningRow, large: bool) -> float:
    if row.framework.startswith(CHECKPOINTING):
        return BY_DEFAULT
    if row.framework == "trl" and row.date >= "2025-10":
        return BY_DEFAULT
    if row.tune == "qlora" or row.quant not in ("", "none"):
        return QUANTIZED
    return NEEDED if large or (row.seq_len or 0) >= LONG else ELSE

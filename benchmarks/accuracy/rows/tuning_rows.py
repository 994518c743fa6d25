"""A CSV of fine-tuning runs -> typed rows. A bad field makes its row inexpressible, with a reason."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.accuracy.rows.csv_rows import LARGEST, NUMBER, Unreadable, Unusable

#: Columns that are numbers.
NUMBERS = {
    "lora_rank", "gpu_mem_gb", "gpus", "gpus_per_node", "seq_len", "packed", "micro_batch", "grad_accum",
    "gradient_checkpointing", "fused_ce", "peak_mem_gb", "step_time_s", "tokens_per_s_per_gpu",
}  # fmt: skip
#: Columns without which nothing can be priced.
NEEDED = ("id", "model", "tune", "gpus", "outcome")


@dataclass(frozen=True)
class TuningRow:
    """One run as its source states it; None, or an empty text, is a field that the source leaves open."""

    id: str
    source: str
    date: str
    model: str
    tune: str
    method: str
    lora_rank: float | None
    lora_targets: str
    quant: str
    gpu: str
    gpu_mem_gb: float | None
    gpus: float | None
    gpus_per_node: float | None
    parallel: str
    offload: str
    seq_len: float | None
    packed: float | None
    micro_batch: float | None
    grad_accum: float | None
    gradient_checkpointing: float | None
    attention: str
    precision: str
    optimizer: str
    fused_ce: float | None
    framework: str
    outcome: str
    peak_mem_gb: float | None
    mem_counts: str
    mem_unit: str
    step_time_s: float | None
    tokens_per_s_per_gpu: float | None


NAMES = tuple(field.name for field in fields(TuningRow))


def read_tuning(path: Path) -> list[dict[str, str]]:
    """The lines of a file as texts. Raises Unreadable."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            lines = [{name: (line.get(name) or "").strip() for name in NAMES} for line in reader]
            known = set(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"{path}: {error}") from None
    if missing := [name for name in NEEDED if name not in known]:
        raise Unreadable(f"{path} has no column `{missing[0]}`")
    return lines


def tuning_row(line: dict[str, str]) -> TuningRow:
    """A line as a row. Raises Unusable."""
    values: dict[str, Any] = {
        name: _number(name, line[name]) if name in NUMBERS else line[name] for name in NAMES
    }
    return TuningRow(**values)


def _number(name: str, text: str) -> float | None:
    if not text:
        return None
    if not NUMBER.fullmatch(text) or not 0 <= float(text) <= LARGEST:
        raise Unusable(f"impossible `{name}`: {text[:40]}")
    return float(text)

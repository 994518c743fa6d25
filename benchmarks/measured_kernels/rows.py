"""A CSV of measured kernels -> typed rows. A bad field makes its row unusable, with a reason; it never stops
the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.accuracy.rows import csv_rows
from benchmarks.accuracy.rows.csv_rows import LARGEST, NUMBER, Unusable

#: Columns without which a file is no table of measured kernels; those of kinds that it lacks may be missing.
NEEDED = ("kind", "gpu", "dtype", "microseconds")
#: What the shape of each kind consists of.
SHAPES: Mapping[str, tuple[str, ...]] = {
    "gemm": ("m", "n", "k"),
    "collective": ("op", "ranks", "bytes"),
    "attention": ("batch", "seq", "heads", "kv_heads", "head_dim", "causal"),
    "experts": ("tokens", "hidden", "ffn", "topk", "experts", "ep", "tp"),
}
#: The largest counts that are no slip: a collective's bytes and any other.
MOST_BYTES, MOST = 2**50, 2**32


@dataclass(frozen=True)
class Kernel:
    """One measured kernel; a shape's fields that its kind lacks are 0.

    gemm: an m x k by k x n product. collective: `bytes` of the whole buffer, as nccl-tests count.
    attention: forward, `batch` sequences of `seq`. experts: `tokens` in all, of which each of ep ranks
    computes its share of topk copies; `ffn` in all, divided by tp.
    """

    kind: str
    gpu: str
    framework: str
    version: str
    kernel: str
    dtype: str
    m: int
    n: int
    k: int
    op: str
    ranks: int
    bytes: int
    batch: int
    seq: int
    heads: int
    kv_heads: int
    head_dim: int
    causal: int
    tokens: int
    hidden: int
    ffn: int
    topk: int
    experts: int
    ep: int
    tp: int
    microseconds: float

    @property
    def shape(self) -> tuple[str | int, ...]:
        """The fields that say what was computed, in the order of SHAPES."""
        return tuple(getattr(self, name) for name in SHAPES[self.kind])


def records(path: Path) -> list[dict[str | None, Any]]:
    """The lines of a CSV by column. Raises Unreadable with what is wrong with the file."""
    return csv_rows.records(path, NEEDED, "kernels_public.csv")[1]


def kernel_of(record: Mapping[str, Any] | Mapping[str | None, Any]) -> Kernel:
    """Raises Unusable for an unknown kind, for a shape with fields that are missing, no numbers or
    impossible, and for lines of another length than the header."""
    if None in record or any(value is None for value in record.values()):
        raise Unusable("line has another number of fields than the header")
    texts = {str(name): str(value).strip() for name, value in record.items()}
    if texts["kind"] not in SHAPES:
        raise Unusable(f"unknown kind `{texts['kind']}`" if texts["kind"] else "kind not stated")
    shape = SHAPES[texts["kind"]]
    values: dict[str, Any] = {}
    for each in fields(Kernel):
        text = texts.get(each.name, "")
        if each.type == "int":
            values[each.name] = _count(each.name, text) if each.name in shape else 0
        else:
            values[each.name] = text
    return Kernel(**{**values, "microseconds": _number("microseconds", texts["microseconds"])})


def _count(name: str, text: str) -> int:
    value = _number(name, text, least=0.0 if name == "causal" else 1.0)
    most = {"causal": 1, "bytes": MOST_BYTES}.get(name, MOST)
    if value > most:
        raise Unusable(f"impossible `{name}`")
    if value % 1:
        raise Unusable(f"`{name}` is not a whole number")
    return int(value)


def _number(name: str, text: str, least: float = 1e-12) -> float:
    if not text:
        raise Unusable(f"`{name}` not stated")
    if not NUMBER.fullmatch(text):
        raise Unusable(f"`{name}` is not a number")
    value = float(text)
    if not math.isfinite(value) or not least <= value <= LARGEST:
        raise Unusable(f"impossible `{name}`")
    return value

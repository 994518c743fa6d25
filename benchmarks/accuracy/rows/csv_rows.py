"""A CSV of measured runs -> typed rows. A bad field makes its row unusable, with a reason; it never
stops the rest."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

#: A number above this is a slip: no count, width, rate or time of a training run comes near.
LARGEST = 1e15


class Unusable(Exception):
    """Why a row is not scored; the text is counted in the report."""


class Unreadable(Exception):
    """Why a whole file cannot be scored."""


@dataclass(frozen=True)
class Row:
    """One measured run as its source states it; None is a field that the source leaves open."""

    id: str
    source: str
    where: str
    model: str
    layers: int | None
    hidden: int | None
    heads: int | None
    kv_heads: int | None
    ffn_hidden: int | None
    gated_mlp: int | None
    vocab: int | None
    seq_len: int | None
    experts: int | None
    topk: int | None
    moe_ffn_hidden: int | None
    params_b: float | None
    gpu: str
    gpus: int | None
    gpus_per_node: int | None
    tp: int | None
    sp: int | None
    pp: int | None
    vpp: int | None
    cp: int | None
    ep: int | None
    dp: int | None
    zero_stage: int | None
    fsdp_shard_group: int | None
    mbs: int | None
    gbs: int | None
    recompute: str
    precision: str
    attention: str
    offload: int | None
    tflops_per_gpu: float | None
    flops_convention: str
    mfu: float | None
    step_time_s: float | None
    tokens_per_s_per_gpu: float | None
    mem_gb: float | None
    oom: int | None
    notes: str
    framework: str
    framework_version: str
    gpu_part: str
    attention_kernel: str
    norm_kernel: str
    tp_overlap: int | None
    dp_overlap: int | None
    grad_dtype: str
    fp8_recipe: str
    cuda_graph: int | None
    dense_layers: int | None
    mtp_layers: int | None
    compile: int | None
    optimizer: str
    recompute_layers: int | None
    head_dim: int | None
    launch_blocking: int | None
    token_drop: int | None
    cluster: str
    node_gbps: float | None
    machine: str
    mem_counts: str
    mem_unit: str
    etp: int | None
    dispatcher: str
    ep_overlap: int | None
    moment_dtype: str
    fused_ce: str
    recipe_graph: str
    offload_layers: int | None
    position: str
    precision_aware: int | None
    te_version: str

    @property
    def timed(self) -> bool:
        return any((self.step_time_s, self.tokens_per_s_per_gpu, self.tflops_per_gpu, self.mfu))


#: Columns of what is on (1) or off (0).
SWITCHES = ("gated_mlp", "sp", "oom", "tp_overlap", "dp_overlap", "cuda_graph", "compile",
            "launch_blocking", "token_drop", "ep_overlap", "precision_aware")  # fmt: skip
MAY_BE_ZERO = {*SWITCHES, "experts", "topk", "zero_stage", "offload", "dense_layers", "mtp_layers"}
#: The most that a field can say: the language knows no larger cluster, ZeRO has four stages, offload is of
#: nothing, of the optimizer (1) or of parameters too (2).
MOST = {"gpus": 10**7, "zero_stage": 3, "offload": 2, **dict.fromkeys(SWITCHES, 1)}
#: What Python's own reading would take further: grouped and non-Latin digits.
NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?|nan", re.ASCII | re.IGNORECASE
)


def _number(name: str, text: str) -> float | None:
    if not text:
        return None
    if not NUMBER.fullmatch(text):
        raise Unusable(f"`{name}` is not a number")
    value, least = float(text), 0.0 if name in MAY_BE_ZERO else 1e-12
    if not math.isfinite(value) or not least <= value <= MOST.get(name, LARGEST):
        raise Unusable(f"impossible `{name}`")
    return value


def _count(name: str, text: str) -> int | None:
    value = _number(name, text)
    if value is not None and value % 1:
        raise Unusable(f"`{name}` is not a whole number")
    return None if value is None else int(value)


#: How the text of a field is read, by the field's type.
READ: Mapping[str, Callable[[str, str], Any]] = {
    "str": lambda name, text: text,
    "int | None": _count,
    "float | None": _number,
}
#: Columns of which a word may be written in capitals.
WORDS = {"recompute", "precision", "attention", "flops_convention", "framework", "gpu_part",
         "attention_kernel", "norm_kernel", "grad_dtype", "fp8_recipe", "optimizer", "cluster", "mem_counts",
         "mem_unit", "dispatcher", "moment_dtype", "fused_ce", "recipe_graph", "position"}  # fmt: skip
#: Columns without which a file is no table of measured runs; others may be missing and count as open.
NEEDED = ("source", "model", "gpu", "gpus", "tp", "pp", "seq_len", "gbs")


def row_of(record: Mapping[str, Any] | Mapping[str | None, Any]) -> Row:
    """Raises Unusable for fields that are no numbers, impossible numbers, and lines of another
    length."""
    if None in record or any(value is None for value in record.values()):
        raise Unusable("line has another number of fields than the header")
    texts = {name: str(value).strip() for name, value in record.items()}
    texts |= {name: texts[name].lower() for name in WORDS & set(texts)}
    return Row(
        **{
            each.name: READ[str(each.type)](each.name, texts.get(each.name, ""))
            for each in fields(Row)
        }
    )


def records(
    path: Path, needed: Sequence[str] = NEEDED, like: str = "measured_public.csv"
) -> tuple[list[str], list[dict[str | None, Any]]]:
    """The header of a CSV and its lines by column; it has at least the columns `needed`, as the file `like`
    of benchmarks/data has. Raises Unreadable with what is wrong with the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, lines = _read(path, csv.DictReader(file, strict=True))
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{path}: byte {error.start + 1} is no UTF-8 text: {error.reason}; save the table as UTF-8"
        ) from None
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    if not header:
        raise Unreadable(f"{path}: the file is empty; the first line names the columns")
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        raise Unreadable(f"{path}: column {', '.join(twice)} is there more than once; keep one")
    missing = [name for name in needed if name not in header]
    if missing:
        cure = _cure(header, needed, like)
        raise Unreadable(f"{path}: no column {', '.join(missing)}; {cure}")
    if not lines:
        raise Unreadable(f"{path}: no rows")
    return header, lines


def _read(path: Path, reader: csv.DictReader[str]) -> tuple[list[str], list[dict[str | None, Any]]]:
    """Header and lines; a reader that stops says at which line."""
    try:
        header = [str(name) for name in reader.fieldnames or ()]
        return header, [dict(line) for line in reader]
    except csv.Error as error:
        raise Unreadable(f"{path}:{reader.line_num + 1}: {error}; is a quote left open?") from None


def _cure(header: Sequence[str], needed: Sequence[str], like: str) -> str:
    """How a header becomes one of ours."""
    plain = {re.sub(r"\W", "", name).lower() for name in header}
    if len(header) == 1 and re.search(r"[;\t|]", header[0]):
        return "fields are separated by commas"
    if plain & set(needed):
        return "names of columns are lower case, without blanks"
    return f"the columns are those of benchmarks/data/{like}"


def unread(header: Sequence[str]) -> list[str]:
    """Columns that say nothing to the score."""
    known = {*(each.name for each in fields(Row)), "year"}
    return [name for name in header if name not in known]


def rows(path: Path) -> Iterator[tuple[dict[str | None, Any], Row | Unusable]]:
    """Every line with its row, or with why it is none."""
    for record in records(path)[1]:
        yield record, row_or_reason(record)


def row_or_reason(record: Mapping[str | None, Any]) -> Row | Unusable:
    try:
        return row_of(record)
    except Unusable as reason:
        return reason


def month_of(version: str) -> str:
    """A month as it stands, a year as its middle, a container's tag such as v25.02 as its month, and nothing
    for tags that are no dates: they are of today's releases."""
    if found := re.fullmatch(r"(20\d\d)(-(0[1-9]|1[0-2]))?", version, re.ASCII):
        return found[0] if found[2] else f"{found[1]}-06"
    if found := re.fullmatch(r"v?(2\d)\.(0[1-9]|1[0-2])(\.\d+)?", version, re.ASCII):
        return f"20{found[1]}-{found[2]}"
    if not version or re.fullmatch(r"(core_)?[rv]?\d+(\.\d+)*([.-]?\w+)?", version, re.ASCII):
        return ""
    raise Unusable(f"framework_version `{version}` is neither a tag nor a month")

"""One cell of the lint manifest and what the readers say -> right, unknown or wrong.

The manifest writes values as a person would: `none` and `no`, `full(uniform; old flag ...)`,
`bf16 (default)`, `fp16=auto+bf16=auto`, `replicate 1 x shard -1`, `absent`, `invalid`. Both sides are brought
to one form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from parc.reading.facts import Unknown, Value

Answer = Value | Unknown | None
#: Column of the manifest -> the fact that it holds, where their names differ.
FACT_OF = {
    "world": "gpus",
    "ulysses_sp": "ulysses",
    "zero_stage": "zero",
    "mbs": "micro_batch",
    "gbs": "global_batch",
    "seq_parallel": "sequence_parallel",
    "dist_opt": "distributed_optimizer",
}
_REPLICAS = re.compile(r"replicate (-?\d+) x shard (-?\d+)")


def verdict(name: str, wanted: str, values: Mapping[str, Value | Unknown]) -> tuple[Answer, str]:
    """The readers' answer to a column of the manifest, and how it compares."""
    if name == "dp" and (match := _REPLICAS.fullmatch(wanted)):
        return _replicas(match, values)
    answer = values.get(FACT_OF.get(name, name))
    if isinstance(answer, Unknown) or answer is None:
        silent = wanted.startswith("unknown") or (answer is None and wanted == "absent")
        return answer, "right" if silent else "unknown"
    if wanted.startswith("unknown"):
        return answer, "wrong"
    return answer, "right" if form(name, answer) == form(name, wanted) else "wrong"


def _replicas(match: re.Match[str], values: Mapping[str, Value | Unknown]) -> tuple[Answer, str]:
    found = values.get("dp_replicate"), values.get("dp_shard")
    if not all(isinstance(value, int) for value in found):
        return values.get("dp"), "unknown"
    answer = f"replicate {found[0]} x shard {found[1]}"
    return answer, "right" if answer == match[0] else "wrong"


def form(name: str, value: Value) -> object:
    """A value in one form, however it is written."""
    text = str(value).strip().lower()
    if name == "precision":
        return _precisions(text)
    if name == "recompute":
        return re.split(r"[\s(;,]", text, maxsplit=1)[0]
    if name in ("seq_parallel", "dist_opt"):
        return {"true": "yes", "false": "no"}.get(text, text)
    if name == "rampup":
        return tuple(part.replace("_", "") for part in text.split())
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _precisions(text: str) -> frozenset[str]:
    """`bf16=True` and `bf16 (default)` are bf16, which fp8 needs not say; what is off counts for nothing."""
    parts = re.sub(r"\([^)]*\)", "", text).replace(" ", "").split("+")
    on = {part.removesuffix("=true") for part in parts if part and not part.endswith("=false")}
    return frozenset(on - {"bf16"} if on & {"fp8", "mxfp8"} else on)

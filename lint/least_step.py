"""A launch -> the seconds of its optimizer step: predicted where a job or a cluster is named, else the least
that its arithmetic takes on the fastest GPU that it may have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ..dsl.diagnostics import JobError
from ..dsl.model import Model
from .facts.batch import batches
from .facts.job_blocks import NEEDED, described_model
from .facts.launched_job import LaunchedJob
from .priced import price, tuning_of

#: A vocabulary that no tokenizer is below: the output layer of a model whose files do not say it.
_LEAST_VOCAB = 256
#: Precisions of matrix products, by what the files may say.
_PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4")


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step; `predicted` by the cost model, else none is shorter."""

    seconds: float
    predicted: bool


def step_time(launch: LaunchedJob) -> StepTime | None:
    """None where the files say too little."""
    found = price(launch) if tuning_of(launch) is None else None
    if found is not None:
        return StepTime(found.estimate.step_seconds, True)
    least = _least(launch)
    return None if least is None else StepTime(least, False)


def _least(launch: LaunchedJob) -> float | None:
    """Model FLOP of a step, causal attention by halves, at the peak rate of all GPUs."""
    from ..compiler.model import flops  # loads NumPy

    length, batch, gpus = (launch.number(name) for name in ("seq_len", "global_batch", "gpus"))
    model = _model(launch)
    if model is None or not length or not batch or not gpus or gpus < 1:
        return None
    rate = _fastest(_kind(launch), str(launch.value("precision") or "bf16"))
    work = flops.training(model, length).total * length * batch
    return None if rate is None else work / (rate * gpus)


def _model(launch: LaunchedJob) -> Model | None:
    said = {"vocab": _LEAST_VOCAB, **described_model(launch)}
    if any(name not in said for name in NEEDED["model"]):
        return None
    try:
        return Model(**said)
    except (ValueError, TypeError):
        return None


def _kind(launch: LaunchedJob) -> str:
    """The kind of GPU that SLURM is asked for, as in `gpu:a100:8`; "" where none is named."""
    for batch in batches(launch):
        for name in ("gpus-per-node", "gres", "gpus", "constraint"):
            words = re.split(r"[^a-z0-9]", (batch.value(name) or "").lower())
            kinds = [word for word in words if re.fullmatch(r"[a-z]++\d++[a-z]*+", word)]
            if kinds:
                return kinds[0]
    return ""


@cache
def _fastest(kind: str, precision: str) -> float | None:
    """FLOP/s of the fastest GPU of the standard library whose name begins so, of all where none does."""
    from ..dsl.library import std_entries  # loads the language's parser
    from ..dsl.standard import std_gpu

    if precision not in _PRECISIONS:
        return None
    names = [entry.name for entry in std_entries() if entry.kind == "gpu"]
    named = [name for name in names if kind and name.startswith(kind)]
    rates = []
    for name in named or names:
        try:
            rates.append(std_gpu(name).rate(precision) or 0.0)
        except JobError:
            continue
    return max(rates, default=0.0) or None

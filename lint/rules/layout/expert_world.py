"""Experts have a grid of their own: etp * ep * pp must divide the number of GPUs. Without
`--expert-tensor-parallel-size` etp is tp. Expert parallelism need not divide dp.

Why:
Megatron-LM finds it out only after every rank is up, in the creation of the process groups.

Bad:
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 1 \\
    --pipeline-model-parallel-size 4 --num-layers 32 --num-experts 8 --expert-model-parallel-size 8

Good:
torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 1 \\
    --pipeline-model-parallel-size 4 --num-layers 32 --num-experts 8 --expert-model-parallel-size 8
"""

import math
from collections.abc import Iterator

from ....compiler.target import Effect
from ....reading.facts import number_of
from ...compiler_predicates import enforced, legal_values, on_assumed_nodes
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR102"
TITLE = "the experts' degrees do not divide the GPUs of a stage"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/core/parallel_state.py:883; " "deepspeedai/DeepSpeed#7551"
)


ETP = "--expert-tensor-parallel-size"


# A module, and no row: the launched program decides the grid (DeepSpeed beneath Megatron, verl).
def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    yield from on_assumed_nodes(launch, _judged(launch))


def _judged(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if (launch.number("ep") or 1) == 1:
        yield from _without_experts(launch)
        return
    if launch.framework == "deepspeed" or launch.kind.involves("deepspeed"):
        yield from _deepspeed(launch)
        return
    if launch.kind.name == "verl-megatron":
        yield from _unknown_model(launch)
        return
    yield from enforced(CODE, launch, vary="ep", cure=_worlds)


def _worlds(launch: LaunchedJob) -> str | None:
    if launch.framework != "megatron":
        return None
    degrees = [launch.number(name) or 1 for name in ("ep", "pp")]
    etp = launch.number("etp") or launch.number("tp") or 1
    return f"a multiple of {etp * math.prod(degrees)} GPUs, or smaller degrees"


def _without_experts(launch: LaunchedJob) -> Iterator[Complaint]:
    """Megatron-core makes the groups of a dense model's experts, too, where their degree is given."""
    given, gpus, pp = launch.option(ETP), launch.number("gpus"), launch.number("pp")
    etp = number_of(given)
    if launch.framework == "megatron" and given and gpus and pp and etp and gpus % (etp * pp):
        message = f"etp {etp} * pp {pp} = {etp * pp} does not divide {gpus} GPUs"
        related = (Related(f"{gpus} GPUs", launch.facts["gpus"]),)
        yield Complaint(message, given, related, effect=Effect.STOPS)


def _unknown_model(launch: LaunchedJob) -> Iterator[Complaint]:
    """The groups of Megatron-core, which it makes whatever the model has."""
    gpus, ep, pp = (launch.number(name) for name in ("gpus", "ep", "pp"))
    etp = launch.number("etp" if "etp" in launch.facts else "tp")
    if gpus and ep and pp and etp and gpus % (etp * ep * pp):
        message = f"etp {etp} * ep {ep} * pp {pp} = {etp * ep * pp} does not divide {gpus} GPUs"
        related = (Related(f"{gpus} GPUs", launch.facts["gpus"]),)
        help_text = f"a multiple of {etp * ep * pp} GPUs, or smaller degrees"
        yield Complaint(message, launch.facts["ep"], related, help_text)


def _deepspeed(launch: LaunchedJob) -> Iterator[Complaint]:
    """DeepSpeed's ep is a part of all ranks."""
    ep, gpus = launch.number("ep"), launch.number("gpus")
    if ep and gpus and gpus % ep:
        message = f"ep {ep} does not divide {gpus} GPUs"
        related = (Related(f"{gpus} GPUs", launch.facts["gpus"]),)
        legal = legal_values("ep", (k for k in range(1, gpus + 1) if gpus % k == 0))
        yield Complaint(message, launch.facts["ep"], related, legal)

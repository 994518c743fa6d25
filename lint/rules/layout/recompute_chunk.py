"""Uniform recomputation stores the input of every N-th layer, so N must divide the layers of a stage; block
recomputation cannot recompute more layers than a stage has.

Why:
Before the fix Megatron-LM failed with `IndexError: list index out of range`; today it recomputes something
else than was asked for. Block recomputation of more layers than a stage has recomputes all of them: a hint.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \\
    --recompute-granularity full \\
    --recompute-method uniform --recompute-num-layers 7

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \\
    --recompute-granularity full \\
    --recompute-method uniform --recompute-num-layers 6
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import (
    RECOMPUTE_METHODS,
    RECOMPUTED_LAYERS,
    SPLIT_OTHERWISE,
)
from ....reading.facts import number_of, text_of
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR124"
TITLE = "recomputed layers do not fit the layers of a stage"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM#3562; NVIDIA/Megatron-LM@d98e8a64 "
    "megatron/core/transformer/transformer_config.py:1920"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, layers, pp = launch.option(*RECOMPUTED_LAYERS), launch.number("layers"), launch.number("pp")
    count, vpp = number_of(at), launch.number("vpp")
    if launch.framework != "megatron" or at is None or count is None:
        return
    if not layers or not pp or launch.given(*SPLIT_OTHERWISE) or layers % pp:
        return
    share = layers // pp
    related = [Related(f"layers {layers}", launch.facts["layers"])]
    if pp > 1:
        related.append(Related(f"pp {pp}", launch.facts["pp"]))
    if count < 1:
        yield Complaint(f"{at.name} {count} must be at least 1", at, tuple(related))
        return
    legal = legal_values(at.name, (k for k in range(1, share + 1) if share % k == 0))
    if (
        text_of(launch.option(*RECOMPUTE_METHODS)) == "uniform"
        and (vpp or 1) == 1
        and share % count
    ):
        message = f"{share} layers per stage are not a multiple of {at.name} {count}"
        yield Complaint(message, at, tuple(related), legal)
    elif count > share:
        message = f"{at.name} {count} is more than the {share} layers of a stage"
        help_text = f"{at.name} at most {share}"
        yield Complaint(message, at, tuple(related), help_text, "info")

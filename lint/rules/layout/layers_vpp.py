"""Interleaving cuts the layers of a stage into equal chunks, so the layers of a virtual stage, or their
number, must divide the layers of a stage.

Why:
Megatron-LM stops at start; old versions rounded down and built a smaller model without a word.

Bad:
torchrun --nnodes 16 --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 16 --num-layers 80 \\
    --num-layers-per-virtual-pipeline-stage 2

Good:
torchrun --nnodes 16 --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 80 \\
    --num-layers-per-virtual-pipeline-stage 2
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import CHUNKS, COUNTED, PER_STAGE, SPLIT_OTHERWISE
from ....reading.facts import number_of
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR122"
TITLE = "virtual stages do not divide the layers of a stage"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:972, "
    "transformer_config.py:2410; NVIDIA/Megatron-LM#468"
)


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    layers, pp = launch.number("layers"), launch.number("pp")
    if launch.framework != "megatron" or not layers or not pp or launch.given(*SPLIT_OTHERWISE):
        return
    units = layers + sum(launch.given(flag) for flag in COUNTED)
    if units % pp:
        return
    per_stage, count = launch.option(PER_STAGE), launch.option(*CHUNKS)
    size, chunks = number_of(per_stage), number_of(count)
    share = units // pp
    related = (
        Related(f"layers {layers}", launch.facts["layers"]),
        Related(f"pp {pp}", launch.facts["pp"]),
    )
    if per_stage and size and share % size:
        built = share // size * size * pp
        message = (
            f"layers {units} / pp {pp} = {share} is not a multiple of {size} layers per virtual stage: "
            f"{built} of {units} layers would be built"
        )
        legal = legal_values("layers per virtual stage", _divisors(share))
        yield Complaint(message, per_stage, related, legal)
    if count and chunks and share % chunks:
        message = f"layers {units} / pp {pp} = {share} is not a multiple of vpp {chunks}"
        yield Complaint(message, count, related, legal_values("vpp", _divisors(share)))


def _divisors(number: int) -> list[int]:
    return [k for k in range(1, number + 1) if number % k == 0]

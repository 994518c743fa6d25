"""Interleaving shortens the bubble of a pipeline, so it needs one: virtual stages with pp 1 mean nothing.

Why:
Megatron-LM refuses them. Before 0.6 it wanted pp above 2.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --num-layers-per-virtual-pipeline-stage 4

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --num-layers-per-virtual-pipeline-stage 4 \\
    --pipeline-model-parallel-size 4
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import CHUNKS, PER_STAGE
from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...facts.versions import older
from ...finding import Complaint, Related

CODE = "PAR123"
TITLE = "virtual stages without a pipeline"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1002"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, pp = launch.option(PER_STAGE, *CHUNKS), launch.number("pp")
    if launch.framework != "megatron" or at is None or pp is None:
        return
    wanted = number_of(at)
    if at.name != PER_STAGE and wanted == 1:
        return
    related = (Related(f"pp {pp}", launch.facts["pp"]),)
    version = launch.versions.get("megatron")
    if pp == 1:
        yield Complaint("interleaving needs pp > 1, and pp is 1", at, related, f"drop {at.name}")
    elif pp == 2 and (launch.given("--no-overlap-p2p-communication") or old(version)):
        reason = f"Megatron-LM {version}" if old(version) else "--no-overlap-p2p-communication"
        yield Complaint(f"interleaving with {reason} needs pp > 2, and pp is 2", at, related)


def old(version: str | None) -> bool:
    return version is not None and older(version, "0.6")

"""Experts with biases cannot be divided by expert tensor parallelism.

Why:
Megatron-LM refuses biases in experts unless etp is 1, and biases are its default. Releases before 0.13 take
them, so that it is a hint where nothing tells the release.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 \\
    --num-experts 8 --expert-tensor-parallel-size 2 --moe-router-fusion

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\
    --num-layers 32 \\
    --num-experts 8 --expert-tensor-parallel-size 2 --moe-router-fusion --disable-bias-linear
"""

from collections.abc import Iterator
from dataclasses import replace

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR119"
TITLE = "etp above 1 for experts with biases"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/transformer_config.py:2614"

#: The first release that refuses them: core_v0.13.0 transformer_config.py:1101.
_SINCE = "0.13"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    release = launch.release("megatron")
    if not launch.number("experts") or not launch.megatron or release.before(_SINCE):
        return
    severity = release.severity("error" if release.since(_SINCE) else "info")
    for found in enforced(CODE, launch):
        yield replace(found, severity=severity) if isinstance(found, Complaint) else found

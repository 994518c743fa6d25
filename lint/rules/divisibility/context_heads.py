"""Context parallelism by all-to-all gives every rank whole heads: what tp leaves of heads and key-value
heads must be a multiple of cp.

Why:
Megatron-LM accepts the arguments; Transformer Engine fails in the first step.

Bad:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-attention-heads 32 \\
    --tensor-model-parallel-size 2 --context-parallel-size 4 --cp-comm-type a2a \\
    --group-query-attention --num-query-groups 4

Good:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --num-attention-heads 32 \\
    --tensor-model-parallel-size 2 --context-parallel-size 4 --cp-comm-type a2a \\
    --group-query-attention --num-query-groups 8
"""

from collections.abc import Iterator

from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR315"
TITLE = "all-to-all context parallelism does not divide the heads"
SEVERITY = "warning"
SOURCE = "arXiv 2309.14509, 3; Megatron-LM's validator accepts it"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, cp, tp = launch.option("--cp-comm-type"), launch.number("cp"), launch.number("tp")
    if text_of(at) != "a2a" or at is None or not cp or not tp or cp == 1:
        return
    for name in ("heads", "kv_heads"):
        count = launch.number(name)
        if count and count % tp == 0 and count // tp % cp:
            related = (
                Related(f"{name} {count}", launch.facts[name]),
                Related(f"tp {tp}", launch.facts["tp"]),
            )
            message = f"{name} {count} / tp {tp} = {count // tp} is not a multiple of cp {cp} (a2a)"
            yield Complaint(
                message, launch.facts["cp"], related, "--cp-comm-type p2p, or a smaller cp"
            )
            return

"""A mixture of experts with tp above 1 needs sequence parallelism. A dense model does not.

Why:
Megatron-LM accepts the arguments and raises in the first step of training.

Bad:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --train-iters 1000 --tensor-model-parallel-size 2 \\
    --num-layers 32 --disable-bias-linear --num-experts 8

Good:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --train-iters 1000 --tensor-model-parallel-size 2 \\
    --num-layers 32 --disable-bias-linear --num-experts 8 --sequence-parallel
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from ..options.option_value import lacks_values

CODE = "PAR302"
TITLE = "experts with tp above 1 and no sequence parallelism"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/moe/moe_layer.py:637; "
    "ROCm/Megatron-LM#85"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    tp, experts = launch.number("tp") or 1, launch.number("experts") or 0
    if (
        not launch.megatron
        or not launch.trains
        or tp < 2
        or experts < 1
        or launch.facts.get("sequence_parallel") is None
    ):
        return
    if launch.value("sequence_parallel") is False and not lacks_values(launch):
        related = (Related(f"experts {experts}", launch.facts["experts"]),)
        message = f"experts {experts} with tp {tp} need --sequence-parallel"
        yield Complaint(message, launch.facts["tp"], related, "add --sequence-parallel")

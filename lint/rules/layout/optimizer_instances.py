"""Instances of the distributed optimizer divide the replicas, also those of the experts.

Why:
Megatron-core stops where it makes its groups: "Expert data parallel size should be divisible by partial
DistOpt shard factor".

Bad:
torchrun --nproc-per-node 4 pretrain_gpt.py --num-layers 12 --hidden-size 512 --num-attention-heads 8 \\
    --num-experts 8 --expert-model-parallel-size 2 --tensor-model-parallel-size 2 --sequence-parallel \\
    --use-distributed-optimizer --num-distributed-optimizer-instances 2

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 12 --hidden-size 512 --num-attention-heads 8 \\
    --num-experts 8 --expert-model-parallel-size 2 --tensor-model-parallel-size 2 --sequence-parallel \\
    --use-distributed-optimizer --num-distributed-optimizer-instances 2
"""

from collections.abc import Iterator

from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR107"
TITLE = "the optimizer's instances do not divide the replicas"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/parallel_state.py:922, :1448; NVIDIA/Megatron-LM#4342"
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    setting = launch.option("--num-distributed-optimizer-instances")
    instances, gpus = number_of(setting), launch.number("gpus")
    if setting is None or not instances or not gpus or not launch.megatron:
        return
    tp, pp, ep = (launch.number(name) or 1 for name in ("tp", "pp", "ep"))
    etp = launch.number("etp") or tp
    for what, group in (("replicas", tp * pp), ("replicas of the experts", etp * ep * pp)):
        if gpus % group == 0 and (gpus // group) % instances:
            message = f"{gpus // group} {what} for {instances} instances of the optimizer"
            related = (Related(f"{gpus} GPUs", launch.facts["gpus"]),)
            yield Complaint(message, setting, related, "instances that divide the replicas")
            return

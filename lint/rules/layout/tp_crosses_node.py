"""Tensor parallelism exchanges activations inside every layer. With tp above the GPUs of a node those
exchanges leave the fast link.

Why:
The network between nodes is about ten times slower than NVLink. Systems that join several nodes by NVLink
are the exception: suppress the rule there, or name the cluster with --cluster.

Bad:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 16 \\
    --num-attention-heads 32

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 \\
    --num-attention-heads 32
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...facts.nodes import most_gpus, other_world
from ...finding import Complaint, Related, Skipped

CODE = "PAR104"
TITLE = "tp is larger than a node"
SEVERITY = "warning"
SOURCE = "arXiv 2104.04473, 5.2 (Megatron-LM SC21)"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    tp, gpus = launch.number("tp"), launch.number("gpus_per_node")
    if tp is None or gpus is None:
        if launch.unknown("gpus_per_node") and (tp or 1) > 1:
            yield from _beyond_any(launch, tp or 1)
        return
    domain = launch.cluster.domain if launch.cluster else gpus
    nodes = launch.number("nodes")
    if tp <= max(domain, gpus) or nodes == 1 or launch.generated or other_world(launch):
        return
    related = (Related(f"{gpus} GPUs per node", launch.facts["gpus_per_node"]),)
    message = f"tp {tp} is larger than the {max(domain, gpus)} GPUs of a node"
    yield Complaint(
        message, launch.facts["tp"], related, f"tp <= {max(domain, gpus)}, and more pp or dp"
    )


def _beyond_any(launch: LaunchedJob, tp: int) -> Iterator[Complaint | Skipped]:
    """A tp that no node holds, and an open question where some do."""
    most = most_gpus(launch)
    if tp <= most:
        yield Skipped(frozenset({"gpus_per_node"}))
    else:
        message = f"tp {tp} is larger than any node, which has at most {most} GPUs"
        yield Complaint(message, launch.facts["tp"], (), f"tp <= {most}, and more pp or dp")

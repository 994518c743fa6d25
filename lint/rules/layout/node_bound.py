"""More ranks on one node than any node has GPUs: 16, and 72 where NVLink joins the nodes of a rack (NVL72).

Why:
Two ranks share a GPU, and NCCL refuses; or the group does not fit, and all processes stop. Which node it is
need not be known.

Bad:
torchrun --nnodes 1 --nproc-per-node 32 pretrain_gpt.py --num-layers 32 --hidden-size 4096

Good:
torchrun --nnodes 4 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
"""

import math
from collections.abc import Iterator

from ...compiler_predicates import on_assumed_nodes
from ...facts.launched_job import LaunchedJob
from ...facts.nodes import has_gpus, most_gpus
from ...finding import Complaint, Related, Skipped

CODE = "PAR106"
TITLE = "more ranks on a node than any node has GPUs"
SEVERITY = "warning"
SOURCE = "NVIDIA DGX-2 (16 GPUs) and GB200 NVL72 datasheets; NCCL: Duplicate GPU detected"

DEGREES = ("tp", "pp", "cp")


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.framework is None or launch.cluster is not None or not has_gpus(launch):
        return
    most = most_gpus(launch)
    each = launch.number("gpus_per_node")
    if each is not None:
        if each > most:
            message = f"{each} processes on a node, and no node has more than {most} GPUs"
            yield Complaint(message, launch.facts["gpus_per_node"])
        return
    yield from on_assumed_nodes(launch, _group(launch, most))


def _group(launch: LaunchedJob, most: int) -> Iterator[Complaint]:
    """The ranks of one replica on one node whose GPUs are not known."""
    nodes = launch.facts.get("nodes")
    degrees = {name: launch.number(name) or 1 for name in DEGREES}
    group = math.prod(degrees.values())
    if nodes is None or launch.number("nodes") != 1 or group <= most:
        return
    wide = [name for name in DEGREES if degrees[name] > 1]
    shown = " * ".join(f"{name} {degrees[name]}" for name in wide)
    message = f"{shown} = {group} on one node, and no node has more than {most} GPUs"
    yield Complaint(message, launch.facts[wide[0]], (Related("one node", nodes),))

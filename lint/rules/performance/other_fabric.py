"""Switches of one network stand beside those of another one.

Why:
NCCL takes one network. With NCCL_IB_DISABLE=1 or NCCL_NET=Socket none of its InfiniBand switches is read, and
what leaves a node goes over TCP, at a tenth of the rate or less. `FI_PROVIDER=efa` only does something where
AWS's plug-in for NCCL is installed: copied to another cluster it hides that nothing uses the fast network.
On one node nothing leaves it. It is a hint where a caller may set the variable, and where no file counts
nodes.

Bad:
export NCCL_IB_DISABLE=1
export NCCL_IB_HCA=mlx5
torchrun --nnodes 4 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint "$HEAD:29500" train.py

Good:
export NCCL_IB_HCA=mlx5
torchrun --nnodes 4 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint "$HEAD:29500" train.py
"""

import re
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, text_of
from ...facts.containers import container
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR703"
TITLE = "switches of another network"
SEVERITY = "warning"
SOURCE = "NCCL user guide, NCCL_IB_DISABLE and NCCL_NET; libfabric fi_provider(7); pytorch/torchtitan#708"
SINCE = "2026-12"
TRAINING = True

#: Options of launchers that say on how many nodes they start, or on which.
_COUNTS = ("--nnodes", "--num-machines", "--num-nodes", "--hostfile")
#: Adapters and addresses that only NCCL's InfiniBand reads; its timeouts stand in scripts for any cluster.
_OF_INFINIBAND = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_SL")
#: Providers of libfabric that a plug-in hands to NCCL.
_PROVIDERS = {"efa": "EFA", "cxi": "Slingshot"}
#: What a script names where the plug-in is there: its folder, its library or its module.
_PLUGIN = re.compile(
    r"/opt/amazon|ofi[-_]nccl|nccl[-_](?:net|ofi)|NCCL_NET_PLUGIN|\baws\b|efa/lib", re.I
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.number("nodes") == 1:
        return
    sockets, provider = _sockets(launch), launch.setting("environment", "FI_PROVIDER")
    of_infiniband = launch.setting("environment", *_OF_INFINIBAND)
    fabric = _PROVIDERS.get((text_of(provider) or "").lower())
    if sockets is not None and of_infiniband is not None and _given(of_infiniband):
        message = f"{of_infiniband.name} is not read: {_text(sockets)} keeps NCCL off InfiniBand"
        yield _complaint(launch, message, of_infiniband, sockets, f"leave {sockets.name} out")
    elif (
        provider is None or fabric is None or launch.says(_PLUGIN) or container(launch) is not None
    ):
        return
    elif of_infiniband is not None and _given(of_infiniband):
        message = f"{_text(provider)} is of {fabric}, and {of_infiniband.name} of InfiniBand"
        yield _complaint(launch, message, provider, of_infiniband, "keep those of the cluster")
    elif sockets is not None and fabric == "EFA":
        message = (
            f"{_text(provider)} without EFA's plug-in, and {_text(sockets)}: nodes talk over TCP"
        )
        yield _complaint(
            launch, message, provider, sockets, "leave both out, unless nodes have EFA"
        )


def _sockets(launch: LaunchedJob) -> Setting | None:
    """The switch by which NCCL uses TCP between nodes."""
    for name, value in (("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")):
        switch = launch.setting("environment", name)
        if switch is not None and text_of(switch) == value:
            return switch
    return None


def _given(setting: Setting) -> bool:
    return text_of(setting) not in (None, "")


def _text(setting: Setting) -> str:
    return f"{setting.name}={text_of(setting)}"


def _complaint(
    launch: LaunchedJob, message: str, at: Setting, other: Setting, cure: str
) -> Complaint:
    defaulted = launch.defaulted(at) or launch.defaulted(other)
    severity: Severity | None = "info" if defaulted or not _spread(launch) else None
    return Complaint(message, at, (Related(_text(other), other),), cure, severity)


def _spread(launch: LaunchedJob) -> bool:
    """Whether the files count nodes, or leave the count to a variable: without one the job mostly has one."""
    counted = launch.setting("launcher", *_COUNTS) or launch.setting("yaml", "num_machines")
    return counted is not None or "nodes" in launch.facts and not launch.unknown("nodes")

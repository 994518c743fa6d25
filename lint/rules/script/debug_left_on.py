"""A variable for debugging that slows every step was left on.

Why:
With CUDA_LAUNCH_BLOCKING=1 each kernel is waited for, so that nothing overlaps. NCCL_IB_DISABLE=1 sends the
traffic of several nodes over TCP: an error where `--cluster` or the job has a network of InfiniBand. They
help to find a fault, and are forgotten. It is a hint where a comment beside the variable says what it is
needed for.

Bad:
export CUDA_LAUNCH_BLOCKING=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, text_of
from ....reading.programs import of_tests
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR808"
TITLE = "a variable for debugging was left on"
SEVERITY = "warning"
SOURCE = (
    "CUDA C++ Programming Guide, CUDA_LAUNCH_BLOCKING; NCCL user guide, NCCL_IB_DISABLE; "
    "PyTorch 2.13 distributed.rst, TORCH_DISTRIBUTED_DEBUG"
)
TRAINING = True

#: Variable -> the value that slows, what it does, and its severity. A cluster without InfiniBand needs
#: NCCL_IB_DISABLE=1.
SLOW: dict[str, tuple[str, str, Severity]] = {
    "CUDA_LAUNCH_BLOCKING": ("1", "waits for every kernel", "warning"),
    "NCCL_IB_DISABLE": ("1", "sends what leaves a node over TCP", "info"),
    "TORCH_DISTRIBUTED_DEBUG": ("DETAIL", "compares the ranks at every collective", "info"),
}

#: Bytes a second of a GPU's own port, 100 Gb/s, as InfiniBand EDR and RoCE have since DGX-1.
_INFINIBAND = 12.5e9
#: What a comment says of a variable that is meant to stay.
_NEEDED = re.compile(
    r"^(?>[^#]*#).*\b(?:do not|don't|never|workaround|work around|needed|necessary|require[sd]?"
    r"|otherwise|avoids?|prevents?|hangs?|deadlocks?)\b",
    re.IGNORECASE,
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for name, (value, effect, severity) in SLOW.items():
        at = launch.setting("environment", name)
        if at is None or text_of(at) != value:
            continue
        if name == "NCCL_IB_DISABLE" and launch.number("nodes") == 1:
            continue
        message = f"{name}={value} {effect}"
        if name == "NCCL_IB_DISABLE" and (network := _fast_network(launch)):
            help_text = f"leave it out: `{network}` has a network of its own"
            yield Complaint(message, at, (), help_text, "error", effect=Effect.STOPS)
            continue
        if _wanted(launch, at) or of_tests(at.path):
            severity = "info"
        yield Complaint(message, at, help="leave it out when the fault is found", severity=severity)


def _fast_network(launch: LaunchedJob) -> str | None:
    """The name of the cluster that the job is meant for, where what joins its nodes is faster than Ethernet
    to a host, and no plug-in of libfabric drives it."""
    cluster = launch.cluster or (launch.job.cluster if launch.job else None)
    if cluster is None or cluster.network < _INFINIBAND or cluster.env:
        return None
    return cluster.name or "the cluster"


def _wanted(launch: LaunchedJob, at: Setting) -> bool:
    """Whether a comment on the line or in the lines right above it says why it is set."""
    lines = launch.config.texts.get(at.path, "").splitlines()[: at.line]
    if not lines:
        return False
    above = takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines[:-1]))
    return any(_NEEDED.search(line) for line in (lines[-1], *above))

"""The output of nvidia-smi, SLURM and its topology file of this machine -> the GPUs of a first job."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import text_of

from .. import codes
from .gpus import ChosenGpus, of_type

#: Seconds that a tool has to answer, and characters of its answer that are read.
_SECONDS, _MOST = 20, 4 * 2**20
#: `gpu:h100:8(S:0-1)` of scontrol; the type may be left out.
_GRES = re.compile(r"gpu:(?:([^:,(\s]+):)?(\d{1,9})")
#: States of nodes that run nothing, as scontrol writes them (slurm.conf's man page, scontrol's "show node").
_LOST = re.compile(r"DOWN|DRAIN|FAIL|FUTURE|NOT_RESPONDING")


@dataclass(frozen=True)
class Node:
    """A node of `scontrol show nodes`: the type of its GPUs, empty where SLURM has none, and their number."""

    name: str
    gpu: str
    count: int
    partitions: tuple[str, ...]


def detected_gpus() -> ChosenGpus:
    """The largest group of equal nodes of SLURM, else the GPUs of this machine. Raises `JobError` where no
    tool names any."""
    local = list(_local_gpus())
    nodes = list(_nodes())
    if nodes:
        return _of_slurm(nodes, local)
    if local:
        name, count = Counter(local).most_common(1)[0]
        found = of_type(count, name, count)
        return replace(found, remark=f"{count} x {name}, says nvidia-smi{_without_link()}")
    message = "no GPUs found: neither SLURM's scontrol nor nvidia-smi lists any on this machine"
    raise JobError([Diagnostic(codes.NOT_DETECTED, message, help="name them: `--gpus 64xH100`")])


def _of_slurm(nodes: list[Node], local: list[str]) -> ChosenGpus:
    groups = Counter((node.gpu, node.count) for node in nodes)
    kind, per_node = max(groups, key=lambda group: groups[group] * group[1])
    same = [node for node in nodes if (node.gpu, node.count) == (kind, per_node)]
    named = kind or next(iter(local), "")
    if not named:
        message = f"SLURM has {len(same)} nodes of {per_node} GPUs, but does not say of which type"
        help = f"name them: `--gpus {len(same) * per_node}xH100`"
        raise JobError([Diagnostic(codes.NOT_DETECTED, message, help=help)])
    found = of_type(len(same) * per_node, named.replace("_", " "), per_node)
    remark = f"{len(same)} nodes of {per_node} x {named}, says scontrol{_switches()}"
    return replace(found, remark=remark, partition=_partition(same))


def _partition(nodes: list[Node]) -> str | None:
    """The one that most of the nodes are in."""
    named = Counter(name for node in nodes for name in node.partitions)
    return named.most_common(1)[0][0] if named else None


def _local_gpus() -> Iterator[str]:
    """Names by nvidia-smi, such as `NVIDIA H100 80GB HBM3`, one for each GPU; memory tells A100s apart."""
    query = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
    for line in _said(*query).splitlines():
        name, _, memory = (part.strip() for part in line.rpartition(","))
        if name and memory.isdecimal():
            yield name


def _without_link() -> str:
    """`nvidia-smi topo -m` has NV18 between GPUs that 18 links join, PIX, PHB or SYS between others."""
    rows = [
        line for line in _said("nvidia-smi", "topo", "-m").splitlines() if line.startswith("GPU")
    ]
    if len(rows) < 2 or any(re.search(r"\bNV\d+\b", row) for row in rows):
        return ""
    return "; its topology has no NVLink between them"


def _nodes() -> Iterator[Node]:
    """Nodes that could run a job, by `scontrol show nodes --oneliner`."""
    for line in _said("scontrol", "show", "nodes", "--oneliner").splitlines():
        fields = dict(re.findall(r"\b(\w+)=(\S*)", line))
        gres = _GRES.search(fields.get("Gres", ""))
        if gres and int(gres[2]) and not _LOST.search(fields.get("State", "")):
            partitions = tuple(filter(None, fields.get("Partitions", "").split(",")))
            yield Node(fields.get("NodeName", ""), gres[1] or "", int(gres[2]), partitions)


def _switches() -> str:
    """Nodes below one leaf switch, by `scontrol show topology` or topology.conf beside slurm.conf."""
    text = _said("scontrol", "show", "topology") or _topology_file()
    named = [
        re.search(r"\bNodes=(\S+)", line) for line in text.splitlines() if "Switches=" not in line
    ]
    leaves = [_hosts(nodes[1]) for nodes in named if nodes]
    if len(leaves) < 2:
        return ""
    return f"; its leaf switches join {max(leaves)} nodes: `pod_gpus` and `pod_network` say more"


def _topology_file() -> str:
    folder = Path(os.environ.get("SLURM_CONF") or "/etc/slurm/slurm.conf").parent
    try:
        return text_of(folder / "topology.conf")
    except (OSError, ValueError):
        return ""


def _hosts(text: str) -> int:
    """How many hosts `n[1-16,20],login` is."""
    return sum(_in_brackets(part) for part in re.findall(r"(?:[^,\[]|\[[^\]]*\]?)+", text))


def _in_brackets(part: str) -> int:
    inside = re.search(r"\[([^\[\]]*)\]", part)
    if inside is None:
        return 1
    ranges = [re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", each) for each in inside[1].split(",")]
    return sum(int(each[2] or each[1]) - int(each[1]) + 1 for each in ranges if each)


def _said(*command: str) -> str:
    """The output of a program; nothing where it is missing, fails, or takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout[:_MOST].decode(errors="replace")

"""Bounds on the GPUs of a node, whatever the node."""

import re

from .launched_job import LaunchedJob

#: DGX-2 and HGX-2 have 16 GPUs, AWS p2.16xlarge 16 dies; a rack of GB200 or GB300 NVL72 is one NVLink domain.
_LARGEST, _RACK = 16, 72
_RACK_NAMES = re.compile(r"NVL72|GB[23]00", re.IGNORECASE)


#: Devices of which a node has others in number: a trn1.32xlarge of AWS has 32 NeuronCores; ranks of gloo are
#: CPU processes.
_NO_GPUS = re.compile(
    r"neuron|trainium|\btrn[12]\b|\bxla\b|\btpus?\b|\bxpu\b|\bhpu\b|habana|\bnpu\b|ascend|\bgloo\b|\bcpu\b",
    re.IGNORECASE,
)


def has_gpus(launch: LaunchedJob) -> bool:
    """Whether nothing in the files says that the ranks run on something else."""
    return not launch.says(_NO_GPUS)


def most_gpus(launch: LaunchedJob) -> int:
    """The most GPUs that a node, or a rack that its files name, can have."""
    return _RACK if on_rack(launch) else _LARGEST


def on_rack(launch: LaunchedJob) -> bool:
    """Whether the files name a rack whose nodes NVLink joins."""
    return launch.says(_RACK_NAMES)


_WORLD = re.compile(
    r"^[ \t]*(?:export[ \t]+)?WORLD_SIZE=[\"']?(\d{1,6})[\"']?[ \t\r]*$", re.MULTILINE
)


def other_world(launch: LaunchedJob) -> int | None:
    """The number of processes that a script of several nodes writes down, where it is not that of its own
    node times the nodes: these are of unequal size, or the number is a stale one."""
    gpus, nodes = launch.number("gpus"), launch.number("nodes")
    if gpus is None or (nodes or 1) == 1:
        return None
    found = {int(each) for text in launch.config.texts.values() for each in _WORLD.findall(text)}
    return found.pop() if len(found) == 1 and gpus not in found else None

"""Two options contradict each other.

Why:
Megatron-LM stops at start, some of these with a bare assertion that says nothing.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000 --train-samples 100000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 1000
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from .megatron_pairs import EXCLUDES, SOURCES

CODE = "PAR312"
TITLE = "two options that exclude each other"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py, transformer_config.py: each "
    "row names its line"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.megatron:
        return
    release = launch.release("megatron")
    for clash in EXCLUDES:
        one, other = _given(clash.one, launch), _given(clash.other, launch)
        if one is None or other is None:
            continue
        if clash.since and release.before(clash.since):
            continue
        severity: Severity | None = None
        if clash.since and not release.known:
            severity = "warning" if release.since(clash.since) else "info"
        message = f"{clash.one} and {clash.other} exclude each other"
        related = (Related(other.name, other),)
        yield Complaint(message, one, related, clash.help, severity)
    yield from _sources(launch)


def _given(wanted: str, launch: LaunchedJob) -> Setting | None:
    """The option, if it has the wanted value; `> 1` wants a number above one."""
    name, _, value = wanted.partition(" ")
    setting = launch.option(name)
    if setting is None or not value:
        return None if number_of(setting) == 0 else setting
    if value == "> 1":
        return setting if (number_of(setting) or 0) > 1 else None
    return setting if text_of(setting) == value else None


def _sources(launch: LaunchedJob) -> Iterator[Complaint]:
    """A single data source for training (arguments.py:1679)."""
    given = [at for name in SOURCES if (at := launch.option(name)) is not None]
    if len(given) > 1:
        first, second, *_ = given
        message = f"{first.name} and {second.name} are both data sources"
        yield Complaint(message, first, (Related(second.name, second),), "keep one")

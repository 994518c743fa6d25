"""Something that happens at other steps than what it belongs to.

Why:
Megatron-LM keeps some of the checkpoints that it saves, and reports memory in some of the lines that it logs:
an interval that is no multiple of theirs ends the job at start with a bare assertion.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 10000 --save-interval 1000 \\
    --save-retain-interval 2500 --save checkpoints

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 10000 --save-interval 1000 \\
    --save-retain-interval 5000 --save checkpoints
"""

from collections.abc import Iterator

from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR331"
TITLE = "an interval that is no multiple of another"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1366, 1370"

#: An interval, the one that it must be a multiple of, and the release that began to insist.
MULTIPLES = (
    ("--save-retain-interval", "--save-interval", "0.14"),
    ("--log-memory-interval", "--log-interval", "0.16"),
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    release = launch.release("megatron")
    for name, other, since in MULTIPLES if launch.megatron else ():
        setting, base = launch.option(name), launch.option(other)
        if setting is None or base is None or release.before(since):
            continue
        interval, step = number_of(setting), number_of(base)
        if interval and step and interval % step:
            severity = release.severity("warning")
            message = f"{name} {interval:g} is no multiple of {other} {step:g}"
            yield Complaint(message, setting, (Related(other, base),), severity=severity)

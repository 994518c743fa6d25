"""An option works only together with another one, which is missing.

Why:
The framework stops at start, or goes on as if the option had not been given. It is an error where the release
is named (`--framework-version`), a warning where the options are those of a release, and a hint in a fork.
Keys of a DeepSpeed config and settings of torchtitan are options too.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \\
    --use-distributed-optimizer

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \\
    --use-distributed-optimizer --overlap-grad-reduce
"""

from collections.abc import Iterator

from ....backends.constraints import Broken, Need
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import of_frameworks
from ..options.option_value import lacks_values

CODE = "PAR303"
TITLE = "an option without another one that it needs"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py, transformer_config.py; DeepSpeed 0.19.8 "
    "runtime/config.py; torchtitan 0.2.2 components/checkpoint.py: each row names its line"
)
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "megatron=0.19")

#: An inference or a converter takes it from the checkpoint.
_SIZE = "--num-experts"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    unread = () if launch.megatron and not lacks_values(launch) else ("megatron",)
    yield from of_frameworks(
        CODE, launch, lambda fault: launch.may_train or not _sized(fault), unread
    )


def _sized(fault: Broken) -> bool:
    return isinstance(fault.row, Need) and _SIZE in fault.row.needs

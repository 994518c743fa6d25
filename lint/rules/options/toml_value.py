"""A value of the wrong kind, or a word that torchtitan does not know: a text for a number, a schedule or a
checkpointing mode that does not exist.

Why:
torchtitan does not check its TOML values: the error comes late, and elsewhere.

Bad:
[training]
local_batch_size = "8"

[activation_checkpoint]
mode = "fulll"

Good:
[training]
local_batch_size = 8

[activation_checkpoint]
mode = "full"
"""

import re
from collections.abc import Iterator

from ....backends.torchtitan.option_rows import SCHEDULE
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, Unknown, Value
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints
from ..layout.mesh_product import DEGREES

CODE = "PAR366"
TITLE = "a value that torchtitan does not take"
SEVERITY = "error"
SOURCE = (
    "torchtitan 0.2.2 config/manager.py (unchecked), distributed/activation_checkpoint.py, "
    "distributed/tensor_parallel.py:19; torch 2.13.0 pipelining/schedules.py"
)
FILE = "train.toml"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "torchtitan=0.2.2")


WORDS = {
    "activation_checkpoint.mode": ("selective", "full", "memory_budget", "none"),
    "parallelism.fsdp_reshard_after_forward": ("default", "always", "never"),
    "parallelism.context_parallel_rotate_method": ("allgather", "alltoall"),
    "training.mixed_precision_param": ("bfloat16", "float32"),
    "training.mixed_precision_reduce": ("float32", "bfloat16"),
    "training.dtype": ("bfloat16", "float32"),
    "parallelism.expert_parallel_comm_backend": ("standard", "deepep", "hybridep"),
    "lr_scheduler.decay_type": ("linear", "sqrt", "cosine"),
    "optimizer.implementation": ("for-loop", "foreach", "fused"),
    "optimizer.name": ("Adam", "AdamW"),
    "checkpoint.async_mode": ("disabled", "async", "async_with_pinned_mem"),
    SCHEDULE: (
        "1F1B", "Interleaved1F1B", "GPipe", "LoopedBFS", "InterleavedZeroBubble",
        "PipelineScheduleSingle", "PipelineScheduleMulti", "ZBVZeroBubble", "DualPipeV",
    ),
}  # fmt: skip
NUMBERS = re.compile(
    r"(?:training\.(?:local_batch_size|batch_size|global_batch_size|seq_len|steps)"
    r"|parallelism\.\w+_degree|parallelism\.pipeline_parallel_microbatch_size"
    r"|parallelism\.pipeline_parallel_layers_per_stage|lr_scheduler\.warmup_steps|checkpoint\.interval"
    r"|parallelism\.pipeline_parallel_(?:first|last)_stage_less_layers)"
)
#: Degrees that the product of the mesh judges.
_DEGREES = frozenset(f"parallelism.{name}_degree" for name in DEGREES)
#: Keys that may hold -1 (all that is left) or 0.
SIGNED = {
    "training.global_batch_size": -1,
    "lr_scheduler.warmup_steps": 0,
    "parallelism.pipeline_parallel_first_stage_less_layers": 0,
    "parallelism.pipeline_parallel_last_stage_less_layers": 0,
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework != "torchtitan":
        return
    yield from complaints("torchtitan", CODE, launch)
    for setting in launch.all("toml"):
        value = setting.values[0] if len(setting.values) == 1 else None
        if isinstance(value, Unknown) or value is None:
            continue
        legal = WORDS.get(setting.name)
        if legal and str(value).lower() not in [word.lower() for word in legal]:
            near = did_you_mean(str(value), legal)
            severity = launch.release("torchtitan").severity("warning" if near else "info")
            message = f'{setting.name} does not take "{value}"'
            listed = f"one of {', '.join(legal)}"
            yield Complaint(message, setting, help=near or listed, severity=severity)
        elif NUMBERS.fullmatch(setting.name):
            yield from _number(setting, value)


def _number(setting: Setting, value: Value) -> Iterator[Complaint]:
    least = SIGNED.get(setting.name, 1)
    if isinstance(value, bool) or not isinstance(value, int):
        shown = f'"{value}"' if isinstance(value, str) else value
        yield Complaint(f"{setting.name} takes a whole number, not {shown}", setting)
    elif setting.name in _DEGREES:
        return
    elif value < least or (least == -1 and value == 0):
        yield Complaint(f"{setting.name} {value} is below {max(least, 1)}", setting)

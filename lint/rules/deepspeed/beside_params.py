"""A key of `optimizer` or `scheduler` that stands beside `params`, or one that its section does not know.

Why:
DeepSpeed hands `params` to the optimizer and reads `type` beside it: a rate beside `params` is not
used, the optimizer takes its own, 1e-3, and no word is said.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "optimizer": {"type": "AdamW", "lr": 1e-5}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}
}
"""

import difflib
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR485"
TITLE = "a key of a section that DeepSpeed does not read there"
SEVERITY = "error"
#: No release reads them: the run goes on, with a value that nobody wrote.
STOPS = "itself"
SOURCE = "DeepSpeed 0.19.8 runtime/config.py:295, :332: get_optimizer_params, get_scheduler_params"
SINCE = "2026-12"
FILE = "ds_config.json"

#: What is read beside `params`.
_BESIDE = {"optimizer": ("type", "params", "legacy_fusion"), "scheduler": ("type", "params")}
#: Sections that are read key by key: DeepSpeed 0.19.8 activation_checkpointing/config.py,
#: swap_tensor/constants.py and profiling/config.py.
_CHECKPOINTING_WORDS = """partition_activations cpu_checkpointing contiguous_memory_optimization
    number_checkpoints synchronize_checkpoint_boundary profile"""
_AIO_WORDS = """block_size queue_depth thread_count intra_op_parallelism single_submit overlap_events
    use_gds"""
_PROFILER_WORDS = """enabled recompute_fwd_factor profile_step module_depth top_modules detailed
    output_file"""
_READ = {
    "activation_checkpointing": _CHECKPOINTING_WORDS.split(),
    "aio": _AIO_WORDS.split(),
    "flops_profiler": _PROFILER_WORDS.split(),
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    reported: set[tuple[str, str]] = set()
    for setting in launch.all("json"):
        section, _, rest = setting.name.partition(".")
        name = rest.partition(".")[0]
        if not name or (section, name) in reported:
            continue
        reported.add((section, name))
        if section in _BESIDE and name not in _BESIDE[section]:
            message = f"{section}.{name} is not read: the {section} takes what stands in `params`"
            yield Complaint(message, setting, help=f"{section}.params.{name}")
        elif section in _READ and name not in _READ[section]:
            near = difflib.get_close_matches(name, _READ[section], n=1, cutoff=0.8)
            severity: Severity = "warning" if near else "info"
            cure = f"did you mean `{near[0]}`?" if near else None
            message = f"{section} has no key `{name}`"
            yield Complaint(message, setting, help=cure, severity=severity)

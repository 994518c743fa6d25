"""A key at the top level that DeepSpeed does not read.

Why:
DeepSpeed ignores it without a word: with `zero_optimisation` a job trains as plain data parallelism. What
resembles a key of DeepSpeed is a warning, anything else may belong to the program above it.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimisation": {"stage": 3}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3}
}
"""

import difflib
from collections.abc import Iterator

from ....backends.deepspeed.constraints.key_values import READ_BY_OTHERS
from ....dsl.diagnostics import Severity
from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import DEEPSPEED_TOP
from ...finding import Complaint
from ...releases.history import history

CODE = "PAR407"
TITLE = "a top-level key that DeepSpeed does not read"
SEVERITY = "info"
SOURCE = "DeepSpeed 0.19.8: keys recorded while DeepSpeedConfig read a file"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    past = history("deepspeed")
    reported: set[str] = set()
    for setting in launch.all("json"):
        name = setting.name.split(".")[0]
        if name in DEEPSPEED_TOP or name in past or name in READ_BY_OTHERS or name in reported:
            continue
        reported.add(name)
        near = difflib.get_close_matches(name, sorted(DEEPSPEED_TOP), n=1, cutoff=0.8)
        severity: Severity | None = "warning" if near else None
        help_text = f"did you mean `{near[0]}`?" if near else None
        message = f"DeepSpeed does not read `{name}`"
        yield Complaint(message, setting, help=help_text, severity=severity)

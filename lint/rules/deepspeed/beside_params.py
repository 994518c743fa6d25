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

from ....backends.deepspeed.constraints.key_values import (
    BESIDE_PARAMS,
    READ_BY_KEY,
)
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


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    reported: set[tuple[str, str]] = set()
    for setting in launch.all("json"):
        section, _, rest = setting.name.partition(".")
        name = rest.partition(".")[0]
        if not name or (section, name) in reported:
            continue
        reported.add((section, name))
        if section in BESIDE_PARAMS and name not in BESIDE_PARAMS[section]:
            message = f"{section}.{name} is not read: the {section} takes what stands in `params`"
            yield Complaint(message, setting, help=f"{section}.params.{name}")
        elif section in READ_BY_KEY and name not in READ_BY_KEY[section]:
            near = difflib.get_close_matches(name, READ_BY_KEY[section], n=1, cutoff=0.8)
            severity: Severity = "warning" if near else "info"
            cure = f"did you mean `{near[0]}`?" if near else None
            message = f"{section} has no key `{name}`"
            yield Complaint(message, setting, help=cure, severity=severity)

"""A section of the top level inside zero_optimization or another section.

Why:
DeepSpeed stops: "aio extra fields not permitted".

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "aio": {"block_size": 1048576}}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3},
  "aio": {"block_size": 1048576}
}
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import deepspeed_keys
from ...finding import Complaint
from .unknown_section_key import is_misplaced

CODE = "PAR406"
TITLE = "a top-level section inside another one"
SEVERITY = "error"
SOURCE = "deepspeedai/DeepSpeed#2721"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    reported: set[str] = set()
    for setting in launch.all("json"):
        section, name, *_ = [*setting.name.split("."), ""]
        if (
            is_misplaced(setting.name)
            and name not in deepspeed_keys().get(section, {})
            and name not in reported
        ):
            reported.add(name)
            message = f"`{name}` stands in {section}, and belongs to the top level"
            yield Complaint(message, setting, help=f"move `{name}` out of {section}")

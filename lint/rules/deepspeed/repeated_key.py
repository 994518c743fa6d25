"""A key stands twice in one object.

Why:
DeepSpeed stops: "Duplicate keys in DeepSpeed config". Other readers silently take the last one.

Bad:
{
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 8,
  "train_batch_size": 128
}

Good:
{
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 8
}
"""

from collections.abc import Iterator

from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR419"
TITLE = "a key that stands twice in a config"
SEVERITY = "error"
SOURCE = "DeepSpeed 0.19.8 runtime/config_utils.py, dict_raise_error_on_duplicate_keys"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    seen: dict[tuple[str, str], Setting] = {}
    for setting in launch.all("json"):
        first = seen.setdefault((setting.path, setting.name), setting)
        if first is not setting and (first.line, first.column) != (setting.line, setting.column):
            one, other = sorted((first, setting), key=lambda each: (each.line, each.column))
            related = (Related("the first", one),)
            yield Complaint(f"`{setting.name}` stands twice", other, related, "keep one")

"""A config that its framework cannot parse.

Why:
DeepSpeed and torchtitan stop at load, on every rank. DeepSpeed reads Hjson: comments and loose commas pass.

Bad:
{
  "train_batch_size": 64,
  "zero_optimization": {"stage": 2

Good:
{
  "train_batch_size": 64,
  "zero_optimization": {"stage": 2}
}
"""

import re
from collections.abc import Iterator

from ....reading.facts import UNREAD
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR807"
TITLE = "a config that cannot be parsed"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/config_utils.py (hjson); torchtitan 0.2.2 config/manager.py (tomllib)"
)
FILE = "ds_config.json"

#: How a reader of YAML says where it stopped.
_YAML = re.compile(r"line (\d+): ")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Only of files that a framework would read; what is no text at all is another matter."""
    if launch.kind == UNREAD:
        return
    for unread in launch.config.unread:
        named = unread.path.endswith((".json", ".toml"))
        line = _YAML.match(unread.reason) if unread.path.endswith((".yaml", ".yml")) else None
        if (named or line) and not unread.over_limit and unread.path in launch.config.texts:
            place = Place(unread.path, int(line[1]) if line else unread.line, unread.column)
            yield Complaint(f"this is no config: {unread.reason}", place)

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

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR807"
TITLE = "a config that cannot be parsed"
SEVERITY = "error"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/config_utils.py (hjson); torchtitan 0.2.2 config/manager.py (tomllib)"
)
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Only of files that a framework would read; what is no text at all is another matter."""
    if launch.kind == "unread":
        return
    for unread in launch.config.unread:
        if unread.path.endswith((".json", ".toml")) and unread.path in launch.config.texts:
            place = Place(unread.path, unread.line, unread.column)
            yield Complaint(f"this is no config: {unread.reason}", place)

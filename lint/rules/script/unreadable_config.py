"""A config that its framework cannot parse.

Why:
DeepSpeed and torchtitan stop at load, on every rank. DeepSpeed reads Hjson: comments and loose commas pass,
but where Transformers' Trainer or accelerate is handed the file, `json.load` reads it first.

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

import json
import re
from collections.abc import Iterator

from ....backends.huggingface.option_rows import CONFIG_FILE, KIND
from ....reading.facts import UNREAD, text_of
from ...facts.launched_job import LaunchedJob, is_script
from ...facts.trainer import deepspeed_of_trainer
from ...finding import Complaint, Place

CODE = "PAR807"
TITLE = "a config that cannot be parsed"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/config_utils.py (hjson); accelerate utils/deepspeed.py:143 (json.load); "
    "torchtitan 0.2.2 config/manager.py (tomllib)"
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
        told = named or line or unread.broken
        if told and not unread.over_limit and unread.path in launch.config.texts:
            place = Place(unread.path, int(line[1]) if line else unread.line, unread.column)
            yield Complaint(f"this config cannot be parsed: {unread.reason}", place)
    if deepspeed_of_trainer(launch) is not None or _of_accelerate(launch):
        yield from _strict(launch)


def _of_accelerate(launch: LaunchedJob) -> bool:
    kind = launch.setting("yaml", KIND)
    named = launch.setting("yaml", CONFIG_FILE)
    return named is not None and text_of(kind) == "DEEPSPEED"


def _strict(launch: LaunchedJob) -> Iterator[Complaint]:
    """DeepSpeed configs that Hjson takes and JSON does not; one in a heredoc has its script's text."""
    for path in dict.fromkeys(setting.path for setting in launch.all("json")):
        text = launch.config.texts.get(path) or "{}"
        try:
            json.loads("{}" if _is_shell(path, text) else text)
        except json.JSONDecodeError as error:
            message = f"json.load refuses this config: {error.msg}"
            yield Complaint(message, Place(path, error.lineno, error.colno))
        except (ValueError, RecursionError):
            continue


def _is_shell(path: str, text: str) -> bool:
    """Whether a config's text is that of a script, in which a heredoc writes it."""
    return is_script(path, text) and not text.lstrip().startswith(("{", "[", "//", "/*"))

"""A truth value or a number in quotes.

Why:
DeepSpeed's hand-read keys take any text for true, and compare texts with numbers: `TypeError: '>' not
supported between instances of 'str' and 'int'`; the Trainer finds that "4" is not its own 4. `--fix` takes
the quotes away.

Bad:
{
  "train_micro_batch_size_per_gpu": "4",
  "bf16": {"enabled": "true"}
}

Good:
{
  "train_micro_batch_size_per_gpu": 4,
  "bf16": {"enabled": true}
}
"""

import re
from collections.abc import Iterator

from ....backends.deepspeed.constraints.key_values import TEXTS, UNQUOTED
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import compares_deepspeed
from ...finding import Complaint, Edit
from ..batch.two_sources import compared
from .unknown_section_key import split

CODE = "PAR404"
TITLE = "a truth value or a number in quotes"
SEVERITY = "error"
SOURCE = "DeepSpeed 0.19.8 runtime/config.py, runtime/config_utils.py"
FILE = "ds_config.json"


_LITERAL = re.compile(r"(?i:true|false)|[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for setting in launch.all("json"):
        value = setting.values[0] if len(setting.values) == 1 else None
        if not isinstance(value, str) or not _LITERAL.fullmatch(value):
            continue
        if setting.name.rpartition(".")[2] in TEXTS:
            continue
        edits = _unquoted(launch, setting, value)
        if not edits:
            continue
        message = f'{setting.name} is the text "{value}"'
        by_trainer = compared(setting.name) and compares_deepspeed(launch)
        stops = by_trainer or setting.name in UNQUOTED
        coerced = split(setting.name)[0] != "" and not stops
        severity: Severity | None = "warning" if coerced else None
        yield Complaint(
            message,
            setting,
            help=value.lower(),
            severity=severity,
            edits=edits,
            effect=Effect.STOPS if stops else None,
            framework=TRANSFORMERS if by_trainer else "",
        )


def _unquoted(launch: LaunchedJob, setting: Setting, value: str) -> tuple[Edit, ...]:
    """The edit that takes the quotes away; none where no quotes are in the file itself."""
    span = launch.span(setting)
    if span is None:
        return ()
    text = span.source.text
    match = re.compile(r"""[^:\n]*:\s*(["'])(?P<value>[^"'\n]*)\1""").match(text, span.start)
    if match is None or match["value"] != value:
        return ()
    return (Edit(setting.path, match.start("value") - 1, match.end("value") + 1, value.lower()),)

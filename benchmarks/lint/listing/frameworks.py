"""A framework's name and the code of one release -> the options that this release accepts."""

from __future__ import annotations

import re
from collections.abc import Callable

from .argparse_options import Row, options
from .class_fields import classes_of, fields_of, rows_of
from .deepspeed_keys import keys
from .source_code import SourceCode

_MEGATRON_PARSERS = re.compile(r"(.*/)?(megatron/(training/)?|megatron_patch/)arguments\.py")
_DEEPSPEED_READERS = re.compile(
    r"deepspeed/(?:runtime|comm|monitor|nebula|profiling|autotuning|compression|elasticity|utils)/"
    r"(?:\w+/)*(?:\w*config\w*|constants|utils|elasticity)\.py"
)
_DEEPSPEED_CONFIG = "deepspeed/runtime/config.py"
#: Modules beside it that have a section of their own, and what they say of it.
_DEEPSPEED_BESIDE = re.compile(r"deepspeed/runtime/\w+\.py")
_DEEPSPEED_SECTION = re.compile(r"^def get_\w*config\(|\(DeepSpeedConfigModel\):", re.MULTILINE)
#: Where torchtitan says what its configuration holds: since 0.2, 0.1, and before.
_TORCHTITAN = ("torchtitan/config/job_config.py", "torchtitan/config_manager.py")


def megatron(code: SourceCode) -> list[Row]:
    """Options of the parser of its training programs; a fork's too, which may have it in another folder."""
    found = [path for path in code.paths if _MEGATRON_PARSERS.fullmatch(path)]
    return [row for path in found[:1] for row in options(code.text(path))]


def deepspeed(code: SourceCode) -> list[Row]:
    found = [path for path in code.paths if _DEEPSPEED_READERS.fullmatch(path)]
    beside = (path for path in code.paths if _DEEPSPEED_BESIDE.fullmatch(path))
    found += [
        path for path in beside if path not in found and _DEEPSPEED_SECTION.search(code.text(path))
    ]
    paths = sorted(found, key=lambda path: path != _DEEPSPEED_CONFIG)
    return keys({path: code.text(path) for path in paths})


def torchtitan(code: SourceCode) -> list[Row]:
    """Before 0.1 they are options `--section.key`, since then fields of dataclasses."""
    text = code.text(next(path for path in _TORCHTITAN if path in code.paths))
    classes = classes_of(text)
    whole = classes.get("JobConfig")
    if whole is not None and any(fields_of(whole, classes)):
        rows = rows_of(whole, classes)
        return [row for row in rows if row["kind"] != "section"]
    return [{**row, "name": row["name"].removeprefix("--")} for row in options(text)]


def transformers(code: SourceCode) -> list[Row]:
    """Fields of TrainingArguments, each an option of a training program."""
    classes = classes_of(code.text("transformers/training_args.py"))
    rows = rows_of(classes["TrainingArguments"], classes)
    return [{**row, "name": f"--{row['name']}"} for row in rows]


def programs(code: SourceCode) -> list[Row]:
    """Options of Megatron-LM's other programs: tools, tasks, examples."""
    found = [path for path in code.paths if not _MEGATRON_PARSERS.fullmatch(path)]
    kept = (path for path in found if not path.startswith("tests/"))
    return [row for path in kept for row in _parsed(code.text(path))]


def _parsed(text: str) -> list[Row]:
    """None of a file that Python does not read; one of core_v0.12.3 is such a file."""
    try:
        return options(text)
    except SyntaxError:
        return []


#: The framework whose forks and other programs have tables too.
FORKED = "megatron"
LISTERS: dict[str, Callable[[SourceCode], list[Row]]] = {
    "megatron": megatron,
    "deepspeed": deepspeed,
    "torchtitan": torchtitan,
    "transformers": transformers,
}

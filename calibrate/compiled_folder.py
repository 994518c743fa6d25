"""A folder that `parc compile` wrote, with logs of its run -> its job's file, and the layout that ran."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..backends import BACKENDS
from ..compiler.search.complete_layout import in_numbers
from ..compiler.variables import ORDER
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.inputs.documents import json_value
from ..dsl.inputs.files import text_of as file_text
from .codes import UNREADABLE
from .log_files import text_of

LISTED = "plan.json"


def is_compiled(path: str) -> bool:
    return os.path.isfile(os.path.join(path, LISTED))


def job_files(path: str) -> tuple[str, list[str]]:
    """The digest of a folder's job, and the files that it may be, in the folder and beside it.

    Raises JobError for a plan.json that is not parc's."""
    told = _told(path)["job"]
    try:
        name, digest = Path(str(told["file"])).name, str(told["sha256"])
    except (KeyError, TypeError) as error:
        raise _unusable(path, error) from None
    folder = Path(path)
    beside = (folder / name, Path(os.path.abspath(folder)).parent / name)
    return digest, [os.path.relpath(each) for each in beside if name and each.is_file()]


def layout_of(path: str) -> dict[str, int]:
    """The layout of the plan whose framework wrote the folder's log; of no other framework's plan."""
    try:
        layouts = dict(_layouts(_told(path)))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _unusable(path, error) from None
    if len(layouts) > 1:
        text = text_of(path)
        layouts = {each: it for each, it in layouts.items() if BACKENDS[each].reader.log(text)}
    return next(iter(layouts.values()), {})


def _layouts(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, int]]]:
    for plan in told["plans"]:
        if plan["target"] in BACKENDS:
            yield plan["target"], in_numbers({name: plan["layout"][name] for name in ORDER})


def _told(path: str) -> dict[str, Any]:
    try:
        told = json_value(file_text(Path(path) / LISTED))
        return {"job": told["job"], "plans": told["plans"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unusable(path, error) from None


def _unusable(path: str, error: Exception) -> JobError:
    message = f"`{path}/{LISTED}` is not what `parc compile` writes: {error}"
    help = "give the folder's log with its job: LOG=JOB.par"
    return JobError([Diagnostic(UNREADABLE, message, help=help)])

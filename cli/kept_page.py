"""A page that this user's parc has written -> its text, where it shows a job as it stands."""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parc.dsl.inputs.files import bytes_of

from .commands.compile import PAGE
from .kept_plan import compiled_folders
from .subjects import LARGEST
from .writing.receipts import is_remembered

if TYPE_CHECKING:
    from parc.dsl.job import Job

#: What is before and behind the values of a page, whose text holds no `<`.
_BEFORE, _BEHIND = '<script type="application/json" id="data">', "</script>"


def kept_page(page: Path, job: Job, targets: Collection[str]) -> str | None:
    """The text of the page that parc wrote there the last time, of these targets of the job with these
    texts and overrides, by this release; None of another one, and of anyone else's, which is not believed.
    """
    try:
        content = bytes_of(str(page), LARGEST)
        if not is_remembered(page, content):
            return None
        text = content.decode()
        values: Any = json.loads(text.partition(_BEFORE)[2].partition(_BEHIND)[0])
        told = values["planned"]
        whose = told["parc"], told["job"]["sha256"], told["job"]["name"]
        shown = {each["target"] for each in (*told["plans"], *told["refused"])}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    same = whose == (version("parc-compiler"), job.digest, job.name) and shown == set(targets)
    return text if same else None


def compiled_page(job: Job, targets: Collection[str]) -> tuple[Path, str] | None:
    """The page of a job in the folder that `parc compile JOB -o out` wrote here, with its text."""
    for folder in compiled_folders(job):
        page = folder / PAGE
        if (text := kept_page(page, job, targets)) is not None:
            return page, text
    return None

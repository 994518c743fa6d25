"""A page that this user's parc has written -> whether it shows a job as it stands."""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parc.dsl.inputs.files import bytes_of

from .subjects import LARGEST
from .writing.receipts import is_remembered

if TYPE_CHECKING:
    from parc.dsl.job import Job

#: What is before and behind the values of a page, whose text holds no `<`.
_BEFORE, _BEHIND = '<script type="application/json" id="data">', "</script>"


def kept_page(page: Path, job: Job, targets: Collection[str]) -> bool:
    """Whether a file is the page that parc wrote there the last time, of these targets of the job with these
    texts and overrides, by this release. A page of anyone else's is not believed."""
    try:
        content = bytes_of(str(page), LARGEST)
        if not is_remembered(page, content):
            return False
        values: Any = json.loads(content.decode().partition(_BEFORE)[2].partition(_BEHIND)[0])
        told = values["planned"]
        whose = told["parc"], told["job"]["sha256"], told["job"]["name"]
        shown = {each["target"] for each in (*told["plans"], *told["refused"])}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return False
    return whose == (version("parc-compiler"), job.digest, job.name) and shown == set(targets)

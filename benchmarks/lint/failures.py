"""A folder of benchmarks/data/failures -> a reported failure: its files, what must be said, and the cure.

failure.toml                          what is known of it, as `Failure` lists
train.sh, ds_config.json, job.par ..  the files as they were, in the smallest form that shows it
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

FACTS = "failure.toml"
#: A job that the files are meant to run, given to lint as `--spec`.
SPEC = "job.par"


class _Read(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Wanted(_Read):
    """A finding: `code` is empty where no rule says it. `line` starts at 1."""

    code: str = Field(pattern=r"^(PAR\d{3})?$")
    file: str
    line: int = Field(ge=1)


class Cure(_Read):
    """`old` stands once in `file` and is `new` where it works; a file without `old` becomes `new`."""

    file: str
    old: str = ""
    new: str


class Failure(_Read):
    """A failure that a thread reports. `release` is empty where it names none; `message` is the framework's.

    `drawn`: found after all rules were written. `reason` says why a failure that is not `decidable` is not.
    `environment` and `arguments` are what the script was started with.
    """

    id: str
    framework: str
    release: str = ""
    source: str = Field(pattern="^https://")
    message: str
    cause: str
    drawn: bool = False
    decidable: bool = True
    reason: str = ""
    environment: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    fixed: tuple[Cure, ...] = ()
    files: Mapping[str, str] = {}

    @model_validator(mode="after")
    def _whole(self) -> Failure:
        if self.decidable != (not self.reason):
            raise ValueError("a failure is decidable, or `reason` says why not")
        if self.decidable and not (self.files and self.wanted and self.fixed):
            raise ValueError("a decidable failure has files, `wanted` and `fixed`")
        for each in self.wanted:
            if not 1 <= each.line <= len(self.files.get(each.file, "").splitlines()):
                raise ValueError(f"no line {each.line} in `{each.file}`")
        self.cured()
        return self

    def cured(self) -> dict[str, str]:
        """The files of the version that works. Raises `ValueError` for a cure that does not fit."""
        files = dict(self.files)
        for cure in self.fixed:
            text = files.get(cure.file, "")
            if cure.old and text.count(cure.old) != 1:
                raise ValueError(f"`{cure.old}` does not stand once in `{cure.file}`")
            files[cure.file] = text.replace(cure.old, cure.new) if cure.old else cure.new
        return files


def load(folder: Path) -> Failure:
    """Raises `ValueError` for a folder whose facts and files do not fit together."""
    facts: dict[str, Any] = tomllib.loads((folder / FACTS).read_text(encoding="utf-8"))
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != FACTS
    }
    return Failure(id=folder.name, files=files, **facts)


def load_all(root: Path) -> list[Failure]:
    """Failures of every folder that has facts, by their names."""
    return [load(path.parent) for path in sorted(root.glob(f"*/{FACTS}"))]

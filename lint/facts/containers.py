"""The container of a step, as pyxis makes it -> which folders outlast it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from ...reading.facts import Setting, text_of
from .launched_job import LaunchedJob


@dataclass(frozen=True)
class Container:
    """`mounts` are the folders inside it that lie outside of it, None where the files do not decide them;
    `workdir` is where the program starts, "" where it is not given; `kept`: it stays when its step ends.
    """

    image: Setting
    mounts: tuple[str, ...] | None
    workdir: str
    kept: bool

    def holds(self, folder: str) -> bool:
        """Whether an absolute folder, or one below the working folder, is in none of the mounts."""
        path = PurePosixPath(self.workdir, folder)
        return path.is_absolute() and not any(map(path.is_relative_to, self.mounts or ()))


def container(launch: LaunchedJob) -> Container | None:
    """None where no step has an image. A container with a name, and one that is saved, stays when its step
    ends; home is mounted or not as a site has it."""
    image = _given(launch, "container-image")
    if image is None:
        return None
    named = _given(launch, "container-name", "container-save")
    workdir = _given(launch, "container-workdir")
    return Container(
        image,
        _mounts(_given(launch, "container-mounts")),
        text_of(workdir) or "",
        named is not None or (workdir is not None and text_of(workdir) is None),
    )


def _given(launch: LaunchedJob, *names: str) -> Setting | None:
    return launch.setting("launcher", *(f"--{name}" for name in names))


def _mounts(given: Setting | None) -> tuple[str, ...] | None:
    """`SRC:DST:FLAGS` or `SRC`, separated by commas (pyxis, --container-mounts)."""
    if given is None:
        return ()
    text = text_of(given)
    if text is None:
        return None
    parts = [part.split(":") for part in text.split(",") if part]
    return tuple(part[1] if len(part) > 1 else part[0] for part in parts)

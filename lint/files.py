"""Paths -> texts of launch files, recognised by content in folders, and complaints about other files."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..backends import BACKENDS
from ..backends.launch_files import config_files
from ..backends.reader import ConfigFile
from ..dsl.codes import NOT_UTF8, TOO_LARGE, UNREADABLE
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.inputs.files import Binary, NotReadable, TooLarge, first_bytes, reason_of, text_of

#: Bytes of a file in a folder by which it is recognised as a launch file.
_SNIFFED_BYTES = 256 * 1024
_SKIPPED_FOLDERS = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox"}
_LAUNCHERS = (
    r"#SBATCH\s+-|\btorchrun\b|torch\.distributed\.(?:run|launch)|\bdeepspeed\s+(?:-|\S+\.py)"
    r"|\baccelerate\s+launch\b"
)
_SCRIPTS = {"", ".sh", ".bash", ".slurm", ".sbatch", ".job", ".batch"}


@dataclass(frozen=True)
class Texts:
    """Texts by the name under which a user knows the file, and why others were not read."""

    texts: dict[str, str]
    unreadable: tuple[Diagnostic, ...] = ()


def read_texts(paths: Iterable[str | os.PathLike[str]], skip_others: bool = False) -> Texts:
    """Every file named, or of those what looks like a launch file; in folders always only these."""
    texts: dict[str, str] = {}
    complaints: list[Diagnostic] = []
    for path in (os.path.normpath(os.fspath(given)) for given in paths):
        for name in _within(path) if os.path.isdir(path) else [path]:
            if skip_others and os.path.isfile(name) and not is_launch_file(name):
                continue
            try:
                texts[name] = _text(name)
            except JobError as error:
                complaints += error.diagnostics
    return Texts(texts, tuple(complaints))


def _text(path: str) -> str:
    """The text of a file; raises `JobError` for what is none."""
    try:
        return text_of(path)
    except FileNotFoundError:
        raise JobError([Diagnostic(UNREADABLE, f"there is no file `{path}`")]) from None
    except TooLarge as error:
        raise _refused(TOO_LARGE, path, error, "a launch file is a few kilobytes") from None
    except Binary as error:
        raise _refused(NOT_UTF8, path, error, "name scripts and configs only") from None
    except NotReadable as error:
        raise _refused(UNREADABLE, path, error) from None
    except (OSError, ValueError) as error:
        message = f"cannot read `{path}`: {reason_of(error)}"
        raise JobError([Diagnostic(UNREADABLE, message)]) from None


def _refused(code: str, path: str, error: NotReadable, help: str | None = None) -> JobError:
    return JobError([Diagnostic(code, f"`{path}`{str(error).removeprefix('it')}", help=help)])


def _within(folder: str) -> Iterator[str]:
    """The launch files below a folder, in order of their names; links to folders are not followed."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = os.path.join(root, name)
            if os.path.isfile(path) and is_launch_file(path):
                yield path


def is_launch_file(path: str) -> bool:
    """Whether a file starts training or configures it, by its first part."""
    kind = Path(path).suffix.lower()
    if kind not in _SCRIPTS and not any(each.telling for each in _config_kinds(kind)):
        return False
    try:
        data = first_bytes(path, _SNIFFED_BYTES)
    except (OSError, ValueError):
        return False
    if b"\0" in data:
        return False
    return looks_like_launch(path, data.decode("utf-8", errors="replace"))


def looks_like_launch(path: str, text: str) -> bool:
    """Whether a script starts something, or a configuration file has what its framework's have."""
    if kinds := _config_kinds(Path(path).suffix.lower()):
        return any(kind.telling and kind.telling.search(text) for kind in kinds)
    own = (backend.reader.telling for backend in BACKENDS.values() if backend.reader.telling)
    return re.search("|".join([_LAUNCHERS, *own]), text) is not None


def _config_kinds(suffix: str) -> list[ConfigFile]:
    return config_files().get(suffix.removeprefix("."), [])

"""Paths -> texts of launch files. In folders they are told by their content; what is no text is said."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..dsl.codes import NOT_UTF8, TOO_LARGE, UNREADABLE
from ..dsl.diagnostics import Diagnostic, JobError

#: Launch files take a few kilobytes; larger ones are data.
MAX_BYTES = 4 * 1024 * 1024
#: What is read of a file in a folder to tell whether it is a launch file.
_SNIFFED_BYTES = 256 * 1024
_SKIPPED_FOLDERS = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox"}
_SCRIPT = re.compile(
    r"#SBATCH\s+-|\btorchrun\b|torch\.distributed\.(?:run|launch)|\bdeepspeed\s+(?:-|\S+\.py)"
    r"|\baccelerate\s+launch\b|--tensor-model-parallel-size|--(?:tensor-)?model-parallel-size"
)
_JSON = re.compile(
    r'"(?:zero_optimization|train_micro_batch_size_per_gpu|train_batch_size|zero_allow_untested_optimizer)"'
)
_TOML = re.compile(r"(?m)^\s*\[(?:training|parallelism|experimental|activation_checkpoint)\]")
_MAYBE = {".sh", ".bash", ".slurm", ".sbatch", ".job", ".batch", ".json", ".toml", ""}


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
        if not os.path.isfile(path) and os.path.exists(path):
            raise JobError([Diagnostic(UNREADABLE, f"`{path}` is no regular file")])
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
            size = max(os.fstat(stream.fileno()).st_size, len(data))
    except FileNotFoundError:
        raise JobError([Diagnostic(UNREADABLE, f"there is no file `{path}`")]) from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise JobError([Diagnostic(UNREADABLE, f"cannot read `{path}`: {reason}")]) from None
    if len(data) > MAX_BYTES:
        message = f"`{path}` has {size:,} bytes, at most {MAX_BYTES:,} are read"
        raise JobError([Diagnostic(TOO_LARGE, message, help="a launch file is a few kilobytes")])
    return _decoded(path, data)


def _decoded(path: str, data: bytes) -> str:
    """Text as a shell takes it: bytes that are no UTF-8 pass through, zero bytes make it binary."""
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        message = f"`{path}` is binary: a zero byte in line {line}"
        raise JobError([Diagnostic(NOT_UTF8, message, help="name scripts and configs only")])
    return data.decode("utf-8-sig", errors="surrogateescape").translate(_SURROGATES)


#: A byte that is no UTF-8 becomes one replacement character, so that columns stay true.
_SURROGATES = dict.fromkeys(range(56448, 56576), "�")


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
    if Path(path).suffix.lower() not in _MAYBE:
        return False
    try:
        with open(path, "rb") as stream:
            data = stream.read(_SNIFFED_BYTES)
    except OSError:
        return False
    if b"\0" in data:
        return False
    return looks_like_launch(path, data.decode("utf-8", errors="replace"))


def looks_like_launch(path: str, text: str) -> bool:
    kind = Path(path).suffix.lower()
    if kind == ".json":
        return _JSON.search(text) is not None
    if kind == ".toml":
        return _TOML.search(text) is not None
    return _SCRIPT.search(text) is not None

"""Paths -> judged jobs: read the texts, let the backends read the jobs, let the rules judge them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..backends.reading import read_jobs
from ..dsl.diagnostics import JobError
from .engine import Judged, Options, judge
from .files import MAX_BYTES, read_texts


def lint_paths(
    paths: Iterable[str | os.PathLike[str]],
    options: Options,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
) -> list[Judged]:
    """Raises `JobError` for paths that cannot be read."""
    texts = read_texts(paths)
    if texts.unreadable:
        raise JobError(texts.unreadable)
    return lint_texts(texts.texts, options, environment, arguments)


def lint_texts(
    texts: Mapping[str, str],
    options: Options,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
) -> list[Judged]:
    """Files beside those named may be followed, as `source` and `--deepspeed_config` name them."""
    configs = read_jobs(texts, environment=environment, arguments=arguments, folder=beside)
    return judge(configs, options)


def beside(path: str) -> str | None:
    """The text of a file that a script names, when it is there and small."""
    try:
        place = Path(path)
        if not place.is_file() or place.stat().st_size > MAX_BYTES:
            return None
        return place.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None

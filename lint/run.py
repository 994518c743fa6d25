"""Paths -> judged jobs: read the texts, let the backends read the jobs, let the rules judge them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..backends.launch_files import read_jobs
from ..dsl.diagnostics import JobError
from ..reading.facts import LaunchConfig
from .files import MAX_BYTES, read_texts
from .judging import Judged, LintOptions, judge


def lint_paths(
    paths: Iterable[str | os.PathLike[str]],
    options: LintOptions,
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
    options: LintOptions,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
) -> list[Judged]:
    """Files beside those named may be followed, as `source` and `--deepspeed_config` name them."""
    given = replace(options, arguments=tuple(arguments))
    return judge(read_configs(texts, environment, arguments), given)


def read_configs(
    texts: Mapping[str, str], environment: Mapping[str, str], arguments: Sequence[str] = ()
) -> list[LaunchConfig]:
    """The jobs in these files, each with the text of every file that a fact comes from."""
    configs = read_jobs(texts, environment=environment, arguments=arguments, folder=beside)
    return [_with_texts(config, texts) for config in configs]


def _with_texts(config: LaunchConfig, texts: Mapping[str, str]) -> LaunchConfig:
    used = {fact.path: texts[fact.path] for fact in config.facts if fact.path in texts}
    return replace(config, texts={**config.texts, **used})


def beside(path: str) -> str | None:
    """The text of a file that a script names, when it is there and small."""
    try:
        place = Path(path)
        if not place.is_file() or place.stat().st_size > MAX_BYTES:
            return None
        return place.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None

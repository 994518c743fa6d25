"""Paths -> judged jobs: read the texts, let the backends read the jobs, let the rules judge them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..backends.kept import Files
from ..backends.launch_files import read_jobs
from ..dsl.diagnostics import JobError
from ..dsl.inputs.budget import Budget
from ..dsl.inputs.files import current_folder
from ..reading.checkout import Checkout
from ..reading.facts import LaunchConfig, Unread
from ..reading.named_folders import NamedFolders
from .judging import Judged, LintOptions, judge
from .launch_texts import read_texts
from .rules.coverage.not_read import LEFT_OUT
from .without_launch import marked, refuse_others


def lint_paths(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    options: LintOptions,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
) -> list[Judged]:
    """The jobs at one path or at several. Raises `JobError` for paths that cannot be read, and where none of
    them holds a launch."""
    budget = Budget()
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    texts = read_texts(given, budget=budget)
    if texts.unreadable:
        raise JobError(texts.unreadable)
    named = {path: texts.texts[path] for path in texts.named}
    refuse_others(named)
    judged = lint_texts(texts.texts, options, environment, arguments, budget)
    return marked(judged, named, texts.empty)


def lint_texts(
    texts: Mapping[str, str],
    options: LintOptions,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
) -> list[Judged]:
    """Also files that the scripts name are followed, within `named_folders`. What is beyond the budget is
    left out, and the last job stands for it."""
    budget = budget or Budget()
    folders = NamedFolders(current_folder(), named_folders(texts))
    given = replace(
        options,
        arguments=tuple(arguments),
        has_folder=folders.has_folder,
        files=Files(folders, folders.names),
        checkout=Checkout(folders.start, folders.roots or (folders.start,)),
    )
    judged = judge(read_configs(texts, environment, arguments, budget), given, budget)
    return [*judged, *judge(_left_out(budget), replace(given, job=None, cluster=None))]


def _left_out(budget: Budget) -> Iterator[LaunchConfig]:
    """Files that a run does not look at, as a job of which nothing is known."""
    unread = tuple(Unread(told, name, 1, over_limit=True) for name, told in budget.told())
    if unread:
        yield LaunchConfig(LEFT_OUT, (), unread, texts={each.path: "" for each in unread})


def read_configs(
    texts: Mapping[str, str],
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
) -> list[LaunchConfig]:
    """The jobs in these files, each with the text of every file that a fact comes from."""
    folder = NamedFolders(current_folder(), named_folders(texts))
    budget = budget or Budget()
    configs = read_jobs(
        texts, environment=environment, arguments=arguments, folder=folder, budget=budget
    )
    for path in folder.beyond:
        budget.leave(folder.refused[path], path)
    refused = tuple(Unread(reason, path, 1) for path, reason in folder.refused.items())
    return [_completed(config, texts, refused) for config in configs]


def _completed(
    config: LaunchConfig, texts: Mapping[str, str], refused: tuple[Unread, ...]
) -> LaunchConfig:
    used = {fact.path: texts[fact.path] for fact in config.facts if fact.path in texts}
    return replace(config, texts={**config.texts, **used}, unread=(*config.unread, *refused))


def named_folders(paths: Iterable[str]) -> list[Path]:
    """Where files may be followed to: the current folder for files below it, else the file's own."""
    here = current_folder()
    whole = [here / path for path in paths]
    return list(dict.fromkeys(here if here in path.parents else path.parent for path in whole))

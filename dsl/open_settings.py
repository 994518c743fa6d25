"""A job that leaves settings open -> the jobs that each choice of their values makes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .job import Job

#: A value of a setting that may be left open.
Word = str | bool
#: By the path of a setting, such as `("train", "compile")`, the values that a job leaves open, by preference.
Open = Mapping[tuple[str, ...], tuple[Word, ...]]
#: Combinations of open settings that are searched for one target: each takes a search of its own.
MOST = 32


def of_target(opened: Open, target: str) -> Open:
    """The open settings that a plan of one target depends on."""
    return {path: words for path, words in opened.items() if path[:-1] in _blocks(target)}


def _blocks(target: str) -> tuple[tuple[str, ...], ...]:
    return ("train",), ("target", target)


def combinations(opened: Open, target: str) -> int:
    """How many searches one target takes."""
    return prod(map(len, of_target(opened, target).values()))


def settled(job: Job, target: str) -> list[tuple[dict[str, Word], Job]]:
    """Each choice of the values that a target's plan leaves open, by the names of the settings, with the job
    that says so: what departs from the fewest preferred values comes first."""
    opened = of_target(job.open, target)
    choices = product(*(range(len(words)) for words in opened.values()))
    ranked = sorted(choices, key=lambda choice: (sum(map(bool, choice)), choice))
    return [_chosen(job, opened, choice) for choice in ranked]


def _chosen(job: Job, opened: Open, choice: tuple[int, ...]) -> tuple[dict[str, Word], Job]:
    said = {path: opened[path][position] for path, position in zip(opened, choice, strict=True)}
    if not said:
        return {}, job
    return {path[-1]: word for path, word in said.items()}, saying(job, said)


def saying(job: Job, said: Mapping[tuple[str, ...], Word]) -> Job:
    """The job with other values of settings of one target and of `train`, and none left open."""
    train = {path[-1]: word for path, word in said.items() if path[0] == "train"}
    own = {path[-1]: word for path, word in said.items() if path[0] == "target"}
    (target,) = {path[1] for path in said if path[0] == "target"} or {""}
    specs = tuple(
        (
            spec.model_copy(update={"options": spec.options.model_copy(update=own)})
            if spec.name == target
            else spec
        )
        for spec in job.targets
    )
    settled = {"train": job.train.model_copy(update=train), "targets": specs, "open": {}}
    return job.model_copy(update=settled)


def words_of(settings: Mapping[str, Word]) -> str:
    """`grad_dtype bf16, tp_overlap true`."""
    return ", ".join(f"{name} {str(word).lower()}" for name, word in settings.items())

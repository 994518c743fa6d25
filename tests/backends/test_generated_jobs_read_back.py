"""Generated jobs on every target and release: the emitted files say all of the plan, read as anybody's files.

A few jobs of each release are tried; `make fuzz` tries 500 in all (`PARC_READ_BACK`), and
`PARC_READ_BACK_SEED` draws others.
"""

from __future__ import annotations

import os
from itertools import count
from typing import get_args

import pytest

from parc.backends import BACKENDS
from tests.acceptance.support.generated_jobs import compile_text
from tests.acceptance.support.job_generator import job_text
from tests.support.read_back import assert_plan_is_back

SEED = int(os.environ.get("PARC_READ_BACK_SEED", "41"))
#: Every release of each target, and DeepSpeed's other kind of model.
RELEASES = [
    (name, release)
    for name in ("megatron", "deepspeed", "torchtitan")
    for release in get_args(BACKENDS[name].target.options.model_fields["version"].annotation)
] + [("deepspeed", "hf")]
WANTED = max(1, int(os.environ.get("PARC_READ_BACK", "16")) // len(RELEASES))
#: Jobs tried for each that is wanted: some have no layout, or ask for what their release lacks.
TRIES = 40


def text_of(target: str, release: str, number: int) -> str:
    """A job for a release; one of Megatron-LM has all that the newest knows, which older ones may refuse."""
    if target == "megatron":
        text = job_text(target, SEED, number)
        return text.replace("target megatron { ", f'target megatron {{ version = "{release}"; ')
    return job_text(f"{target}-{release}", SEED, number)


@pytest.mark.parametrize(("target", "release"), RELEASES)
def test_reading_gives_the_plan_back(target: str, release: str) -> None:
    back = 0
    for number in count():
        made = compile_text(text_of(target, release, number), f"{target}-{release}-{number}")
        if made.plan is not None:
            own = {name: text for name, text in made.files.items() if name.startswith(f"{target}/")}
            assert_plan_is_back(made.plan, own)
            back += 1
        if back == WANTED:
            return
        assert number < TRIES * WANTED, made.complaints

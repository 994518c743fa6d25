"""The tables of options are those of the frameworks' own code, for each release that is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parc.backends.released_options import released_options, releases
from tests.acceptance.support.environments import OLDEST_ROOT
from tests.acceptance.support.released_options import listed

INSTALLED = (
    ("megatron", "0.19"),
    ("deepspeed", "0.15"),
    ("deepspeed", "0.19"),
    ("torchtitan", "0.2.0"),
    ("torchtitan", "0.2.2"),
    ("torchtitan", "0.3"),
)
OLDEST_MEGATRON = os.environ.get(OLDEST_ROOT)


@pytest.mark.parametrize("framework, release", INSTALLED)
def test_rows_are_those_of_the_installed_release(framework: str, release: str) -> None:
    assert_listed(framework, release)


@pytest.mark.skipif(
    not OLDEST_MEGATRON,
    reason=f"{OLDEST_ROOT} is not set: no wheel has the parser of 0.14",
)
def test_rows_are_those_of_the_oldest_megatron() -> None:
    assert_listed("megatron", "0.14", OLDEST_MEGATRON)


def assert_listed(framework: str, release: str, folder: str | None = None) -> None:
    version = releases(framework)[release]
    rows = {
        row.pop("name"): row for row in listed(framework, version, Path(folder) if folder else None)
    }
    known = {
        name: {
            "kind": option.kind,
            "count": option.count,
            "choices": "|".join(option.choices),
            "default": option.default,
            "instead": option.instead,
        }
        for name, option in released_options(framework, release).items()
    }
    assert known == rows

"""Two scripts, one with a fault, and `parc lint` on files of the current folder."""

from __future__ import annotations

import json

import pytest

from parc.__main__ import main
from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

BAD = """#!/bin/bash
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 \\
    --pipeline-model-parallel-size 16 --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""


GOOD = """#!/bin/bash
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 \\
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""


Captured = pytest.CaptureFixture[str]


def lint(*arguments: str) -> int:
    return main(["lint", *arguments])


def findings(capsys: Captured, *arguments: str) -> list[dict[str, object]]:
    lint(*arguments, "--format", "json")
    printed: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return printed["findings"]


def codes(capsys: Captured, *arguments: str) -> set[object]:
    return {found["code"] for found in findings(capsys, *arguments)}


def codes_of(text: str) -> set[str]:
    """Codes of what lint says of a script."""
    judged = judge(read_jobs({"job.sh": text}), LintOptions())
    return {found.code for job in judged for found in job.findings}

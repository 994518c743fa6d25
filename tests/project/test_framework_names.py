"""A framework is named in its own package and in the rules of lint about it; the rest asks `BACKENDS`."""

from __future__ import annotations

import ast

from parc.backends import BACKENDS
from tests.support.paths import ROOT

ROOMS = ("dsl", "compiler", "reading", "lint", "calibrate", "smoke", "cli")
#: Rules are about frameworks, and say so.
APART = ("lint/rules/",)
#: File -> why names of frameworks stand in it.
EXCEPTIONS = {
    # `deepspeed` and `megatron` are also programs that start others: ms-swift's command is `megatron sft`.
    "reading/launchers.py",
    "reading/bash/commands/launching.py",
    # Their options and keys by release, which the rules about each ask.
    "lint/facts/vocabulary.py",
    # The program `deepspeed` starts the processes of a node.
    "lint/facts/commands.py",
    # The Trainer's YAML names its DeepSpeed config under this key.
    "lint/facts/trainer.py",
    # `LaunchedJob.megatron`, which the rules about Megatron-LM ask.
    "lint/facts/launched_job.py",
}


def naming() -> set[str]:
    """Files with a framework's name as a string of its own."""
    return {
        name
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if not (name := path.relative_to(ROOT).as_posix()).startswith(APART)
        if any(
            isinstance(node, ast.Constant) and node.value in BACKENDS
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(getattr(node, "value", None), str)
        )
    }


def test_no_room_but_its_own_names_a_framework() -> None:
    assert naming() == EXCEPTIONS

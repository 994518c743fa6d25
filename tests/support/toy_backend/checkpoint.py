"""The toy's checkpoints: a file `toy-TP` in the folder of each step."""

import re

from parc.backends.checkpoint_files import Checkpoints, SavedStep, Step


def newest(folder: Step) -> str | None:
    steps = folder.ranks(re.compile(r"toy-step-(\d{1,9})"))
    return f"toy-step-{max(steps)}" if steps else None


def written(step: Step) -> SavedStep | None:
    degrees = step.ranks(re.compile(r"toy-(\d{1,4})"))
    name = step.name.removeprefix("toy-step-")
    if not degrees or not name.isdecimal():
        return None
    return SavedStep("toy", int(name), 1, {"tp": max(degrees)}, {}, {})


CHECKPOINTS = Checkpoints(newest, written)

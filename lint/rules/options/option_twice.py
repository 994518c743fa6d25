"""An option stands twice in one command, with different values.

Why:
The parsers of Megatron-LM and of Transformers keep the last one. The first is read by people alone: changing
it changes nothing.

Bad:
torchrun --nproc-per-node 8 run_clm.py --model_name_or_path gpt2 --output_dir out \\
    --per_device_train_batch_size 4 --learning_rate 1e-4 --logging_steps 50 \\
    --logging_steps 1

Good:
torchrun --nproc-per-node 8 run_clm.py --model_name_or_path gpt2 --output_dir out \\
    --per_device_train_batch_size 4 --learning_rate 1e-4 --logging_steps 1
"""

from collections.abc import Iterator
from itertools import pairwise

from ....reading.facts import Setting, Unknown, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import reads_training_arguments
from ...finding import Complaint, Related

CODE = "PAR397"
TITLE = "an option that stands twice with different values"
SEVERITY = "warning"
SOURCE = "argparse, action `store`: the last value is kept"
SINCE = "2026-12"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    by_name: dict[str, list[Setting]] = {}
    for setting in launch.all("argument"):
        if _takes_one(launch, setting.name):
            by_name.setdefault(setting.name, []).append(setting)
    for same in by_name.values():
        for first, second in pairwise(same):
            if _differ(first, second) and _of_one_command(launch, first, second):
                yield _complaint(first, second)


def _takes_one(launch: LaunchedJob, name: str) -> bool:
    """Whether the program's parser knows an option, and keeps one value of it; a field of the program's own
    arguments is an option that is stored."""
    if launch.parsed_by_megatron:
        forms = launch.release("megatron").forms(name)
    elif reads_training_arguments(launch):
        forms = tuple(launch.release(TRANSFORMERS).history.forms_of(name))
        if not forms:
            return launch.declares(name)
    else:
        forms = ()
    return bool(forms) and all(form.count == "" for form in forms)


def _differ(first: Setting, second: Setting) -> bool:
    values = (*first.values, *second.values)
    known = not any(isinstance(value, Unknown) for value in values)
    one_each = len(first.values) == len(second.values) == 1
    return known and one_each and first.values != second.values


def _of_one_command(launch: LaunchedJob, first: Setting, second: Setting) -> bool:
    """Whether one statement has both, as it is written: what a variable or an array adds may be meant to go
    before what is there."""
    if first.path != second.path or not first.line <= second.line:
        return False
    lines = launch.config.texts.get(first.path, "").split("\n")[first.line - 1 : second.line]
    if len(lines) != second.line - first.line + 1:
        return False
    written = first.name in lines[0] and second.name in lines[-1]
    return written and all(line.rstrip("\r").endswith("\\") for line in lines[:-1])


def _complaint(first: Setting, second: Setting) -> Complaint:
    message = f"{first.name} is {text_of(first)}, and {text_of(second)} behind it, which counts"
    related = (Related(f"{second.name} {text_of(second)}", second),)
    return Complaint(message, first, related, "give it once")

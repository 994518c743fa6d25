"""GRPO compares the completions of a prompt with each other, and a step must hold whole groups of them.

`per_device_train_batch_size` counts completions: those of all ranks, over the steps of accumulation, are a
multiple of `num_generations` (8 unless it is given), which is 2 or more. TRL before 0.18 counts one step. A
trainer of one's own may count prompts instead, as TRL 0.14 did: unless the program is TRL's or ms-swift's, or
the files pin a TRL that checks, it is a hint.

Why:
GRPOConfig or GRPOTrainer stops: "The global train batch size (7 x 1) must be evenly divisible by the number
of generations per prompt (8)".

Bad:
accelerate launch --num_processes 4 --num_machines 1 -m trl.scripts.grpo --output_dir out \\
    --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/tldr --per_device_train_batch_size 1 \\
    --num_generations 8

Good:
accelerate launch --num_processes 4 --num_machines 1 -m trl.scripts.grpo --output_dir out \\
    --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/tldr --per_device_train_batch_size 2 \\
    --num_generations 8
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.option_rows import TRAINER
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...facts.release import pinned
from ...facts.trainer import trainer_argument
from ...finding import Complaint, Related

CODE = "PAR209"
TITLE = "a step does not hold whole groups of completions"
SEVERITY = "error"
SOURCE = (
    "trl 0.23 trainer/grpo_config.py, __post_init__; huggingface/open-r1#217, huggingface/trl#3061"
)
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

_MICRO = TRAINER.fact("micro_batch").name
#: With a teacher the signal of a completion is its distance from the teacher (ms-swift, GKD of trl).
_TEACHERS = ("teacher_model", "teacher_model_name_or_path", "teacher_kl_coef")
#: num_generations of GRPOConfig.
_GROUP = 8
_PINNED = re.compile(r"\btrl(?:\[[\w,-]+\])?==(\d+\.\d+(?:\.\d+)?)")
#: Package -> how its own program is started.
_COMMANDS = {
    "trl": re.compile(r"^trl\b|\btrl\s+grpo\b|\btrl[./]scripts[./]grpo\b"),
    "swift": re.compile(r"^swift\b|\bswift\s+rlhf\b"),
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    given = trainer_argument(launch, "num_generations")
    each = trainer_argument(launch, _MICRO)
    if each is None or (given is None and not re.search("grpo", launch.config.program or "")):
        return
    group = _GROUP if given is None else number_of(given)
    release = pinned(_PINNED, launch.config.texts.values())
    severity = _severity(launch, release)
    if given is not None and group == 1:
        if not any(trainer_argument(launch, name) for name in _TEACHERS):
            message = "a group of one completion has no advantage"
            # ms-swift takes it with what distils.
            effect = Effect.STOPS if severity is None and _runs(launch, "trl") else None
            yield Complaint(message, given, severity=severity, effect=effect)
        return
    completions = _completions(launch, one_step=_before(release, (0, 18)))
    if not group or completions is None or completions[0] % group == 0:
        return
    message = f"{completions[1]} = {completions[0]} completions are not a multiple of num_generations {group}"
    related = (Related("completions of a rank", each),) if given is not None else ()
    effect = Effect.STOPS if severity is None else None
    yield Complaint(message, given or each, related, severity=severity, effect=effect)


def _completions(launch: LaunchedJob, one_step: bool) -> tuple[int, str] | None:
    """Completions that are compared at once, and how they come about."""
    whole = number_of(trainer_argument(launch, "generation_batch_size"))
    if whole:
        return whole, "generation_batch_size"
    ranks = launch.number("gpus")
    micro = number_of(trainer_argument(launch, _MICRO))
    accumulation = trainer_argument(launch, "steps_per_generation") or trainer_argument(
        launch, TRAINER.fact("microbatches").name
    )
    steps = 1 if one_step or accumulation is None else number_of(accumulation)
    if not ranks or not micro or not steps:
        return None
    return ranks * micro * steps, f"{ranks} ranks * {micro} * {steps} steps"


def _severity(launch: LaunchedJob, release: str | None) -> Severity | None:
    checks = release is not None and not _before(release, (0, 15))
    return None if checks or any(_runs(launch, name) for name in _COMMANDS) else "info"


def _runs(launch: LaunchedJob, name: str) -> bool:
    """Whether the program is one of a package's own, which a line of the job starts."""
    program, command = launch.config.program or "", _COMMANDS[name]
    return command.search(program) is not None or any(
        command.search(line) for _, _, line in launch.lines()
    )


def _before(release: str | None, bound: tuple[int, int]) -> bool:
    return release is not None and tuple(map(int, release.split(".")[:2])) < bound

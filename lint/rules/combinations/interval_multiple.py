"""Something that happens at other steps than what it belongs to.

Why:
Megatron-LM keeps some of the checkpoints that it saves, and reports memory in some of the lines that it logs:
an interval that is no multiple of theirs ends the job at start with a bare assertion. Transformers' Trainer
stops too: with --load_best_model_at_end it saves where it evaluates. A program of the same repository that
names a strategy has a default of its own.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 10000 --save-interval 1000 \\
    --save-retain-interval 2500 --save checkpoints

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --train-iters 10000 --save-interval 1000 \\
    --save-retain-interval 5000 --save checkpoints
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.option_rows import BEST, EVAL_STEPS, SAVE_STEPS, SAVES
from ....reading.facts import Setting, number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import evaluates, is_on, trainer_argument, training_arguments
from ...finding import Complaint, Related
from ...rows import complaints

CODE = "PAR331"
TITLE = "an interval that is not a multiple of another"
SEVERITY = "error"
STOPS = "own"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1366, 1370; transformers 4.55.4 "
    "training_args.py:1666; zjunlp/DeepKE#394, RunxinXu/TSAR#13"
)

#: What save_steps is unless it is given; eval_steps is then logging_steps, which is the same.
_STEPS = 500


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from _best_checkpoint(launch)
    if launch.megatron:
        yield from complaints("megatron", CODE, launch)


def _best_checkpoint(launch: LaunchedJob) -> Iterator[Complaint]:
    """The Trainer finds the best checkpoint among those that it has evaluated."""
    best = trainer_argument(launch, BEST)
    if best is None or not is_on(best) or not training_arguments(launch):
        return
    saving = trainer_argument(launch, SAVES)
    evaluating = evaluates(launch)
    if (saving is None and _own(launch, "save")) or (evaluating is None and _own(launch, "eval")):
        return
    saves, judges = _word(saving, "steps"), _word(evaluating, "no")
    if saves in (None, "best") or judges is None:
        return
    if saves != judges:
        message = f"saved by `{saves}` and evaluated by `{judges}`: --load_best_model_at_end stops"
        related = (Related("the best model is looked for here", best),)
        yield Complaint(message, saving or evaluating or best, related, "the same for both")
    elif saves == "steps":
        yield from _best_steps(launch)


def _own(launch: LaunchedJob, what: str) -> bool:
    """Whether the launched program, a file beside the script, has a strategy of its own."""
    return re.search(rf"\b{what}(?:uation)?_strategy\b", launch.program_text or "") is not None


def _best_steps(launch: LaunchedJob) -> Iterator[Complaint]:
    saving, evaluating = (trainer_argument(launch, name) for name in (SAVE_STEPS, EVAL_STEPS))
    save, evaluate = number_of(saving), number_of(evaluating)
    if evaluating is None or not evaluate or (saving is not None and not save):
        return
    if (save or _STEPS) % evaluate:
        message = f"--save_steps {save or _STEPS} is not a multiple of --eval_steps {evaluate}"
        related = (Related(f"--eval_steps {evaluate}", evaluating),)
        yield Complaint(
            message, saving or evaluating, related, "the Trainer saves where it evaluates"
        )


def _word(setting: Setting | None, default: str) -> str | None:
    return default if setting is None else text_of(setting)

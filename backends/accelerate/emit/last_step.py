"""The step of a run's newest checkpoint: of the Trainer's folders, the last that is whole."""

from ....compiler.plan import Plan
from ...languages import bash
from ...languages.bash import Bash
from ..options import options_of


def last_step(plan: Plan) -> Bash:
    """trainer_state.json is written last (transformers 5.23 trainer.py, _save_checkpoint)."""
    whole = bash.code("checkpoint-*/trainer_state.json")
    found = bash.below("SAVE", options_of(plan.job).save or "", "", whole)
    newest = bash.code(r"| sed -n 's|.*/checkpoint-\([0-9]*\)/.*|\1|p' | sort -n | tail -n 1")
    return bash.command(bash.code(r'printf "%s\n"'), found, newest)

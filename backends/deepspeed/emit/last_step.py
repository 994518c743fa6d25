"""The step of a run's newest checkpoint, which DeepSpeed names in a file of its own."""

from ....compiler.plan import Plan
from ...languages import bash
from ...languages.bash import Bash
from ..options import options_of


def last_step(plan: Plan) -> Bash:
    """`latest` holds the tag of a whole one, here step<number> (0.19.8 runtime/engine.py save_checkpoint)."""
    newest = bash.below("SAVE", options_of(plan.job).save or "", "latest")
    return bash.command(bash.code("cat"), newest)

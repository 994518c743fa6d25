"""The step of a run's newest checkpoint, which Megatron-LM names in a file of its own."""

from ....compiler.plan import Plan
from ...languages import bash
from ...languages.bash import Bash
from ..options import options_of


def last_step(plan: Plan) -> Bash:
    """Written when all ranks have saved (core_v0.19.2 training/checkpointing.py save_checkpoint)."""
    folder = options_of(plan.job).checkpoints
    newest = bash.below("CHECKPOINT_DIR", folder, "latest_checkpointed_iteration.txt")
    return bash.command(bash.code("cat"), newest)

"""The step of a run's newest checkpoint, which DeepSpeed names in a file of its own."""

from ....compiler.plan import Plan
from ...languages import bash
from ...languages.bash import Bash
from ..options import options_of


def last_step(plan: Plan) -> Bash:
    """runtime/engine.py save_checkpoint of 0.19.8: `latest` holds the tag, here step<number>, of a whole one."""
    folder = bash.default(options_of(plan.job).save or "")
    return bash.code(f'cat "${{SAVE:-{folder}}}/latest"')

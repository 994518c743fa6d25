"""The step of a run's newest checkpoint: of torchtitan's folders, the last that is whole."""

from ....compiler.plan import Plan
from ...languages import bash
from ...languages.bash import Bash
from ..options import options_of


def last_step(plan: Plan) -> Bash:
    """PyTorch writes .metadata when all ranks have written (checkpoint/filesystem.py finish)."""
    options = options_of(plan.job)
    folder, below = bash.default(options.dump_folder), bash.inside(options.checkpoint)
    found = f'printf "%s\\n" "${{DUMP_FOLDER:-{folder}}}/{below}"/step-*/.metadata'
    return bash.code(rf"{found} | sed -n 's|.*/step-\([0-9]*\)/.*|\1|p' | sort -n | tail -n 1")

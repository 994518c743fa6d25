"""The step of a run's newest checkpoint: of torchtitan's folders, the last that is whole."""

from ....compiler.plan import Plan
from ...languages import bash
from ...languages.bash import Bash
from ..options import options_of


def last_step(plan: Plan) -> Bash:
    """PyTorch writes .metadata when all ranks have written (checkpoint/filesystem.py finish)."""
    options = options_of(plan.job)
    whole = bash.code("/step-*/.metadata")
    found = bash.below("DUMP_FOLDER", options.dump_folder, options.checkpoint or "", whole)
    newest = bash.code(r"| sed -n 's|.*/step-\([0-9]*\)/.*|\1|p' | sort -n | tail -n 1")
    return bash.command(bash.code(r'printf "%s\n"'), found, newest)

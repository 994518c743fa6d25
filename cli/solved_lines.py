"""A job on standard input -> JSON with a line for each target: what `parc lsp` shows behind its lens.

`python -m parc.solved_lines PATH`: imports are relative to the folder of PATH, which is not read.
"""

from __future__ import annotations

import json
import sys

from parc.backends import OPTIONS
from parc.compiler.plan import Plan
from parc.compiler.search.layout_text import GIB
from parc.dsl import loads
from parc.dsl.diagnostics import JobError

from .api import plan_targets
from .printing.words.layouts import layout_text
from .printing.words.numbers import of_peak


def solved_lines(path: str, text: str) -> dict[str, str]:
    """The chosen layout of each target, or why it has none; under the empty name what is wrong with all."""
    try:
        planned = plan_targets(loads(text, path, (), OPTIONS))
    except JobError as error:
        return {"": error.diagnostics[0].message}
    refused = {name: f"no layout: {found.message}" for name, found in planned.complaints}
    return refused | {plan.target: _line(plan) for plan in planned.plans}


def _line(plan: Plan) -> str:
    estimate = plan.estimate
    memory = f"{estimate.memory_bytes / GIB:.0f} GiB"
    return f"{layout_text(plan.layout)} — {estimate.mfu:.0%} MFU{of_peak(plan.job)}, {memory}"


if __name__ == "__main__":
    data = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    print(json.dumps(solved_lines(sys.argv[1], data)))

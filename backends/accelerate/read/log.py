"""What parc's train.py prints under accelerate -> the pace of a run."""

import re

from ...log import Pace, RunLog, merged, number, plain

#: templates/accelerate/train.py.j2, `Report`.
STEP = re.compile(r"\bstep (\d{1,15}) of \d+: loss .{0,200}?, (\d+(?:\.\d+)?) s a step,")


def read_log(text: str) -> RunLog | None:
    """The run behind a log, or None when no line of it is of parc's train.py."""
    lines = STEP.findall(plain(text))
    if not lines:
        return None
    paces = merged(Pace(int(step), number(seconds)) for step, seconds in lines)
    return RunLog(target="accelerate", unit="seconds", paces=paces)

"""Lines of parc's train.py under accelerate -> `RunLog`: the layout and the steps."""

import re

from ...log import SIZES, Pace, RunLog, layout_said, merged, number, numbers_said, plain

#: What `Report` of the emitted train.py prints.
STEP = re.compile(r"\bstep (\d{1,15}) of \d+: loss .{0,200}?, (\d+(?:\.\d+)?) s a step,")
LAYOUT_NAMES = ("pp", "dp_shard", "zero", "gpus", "micro_batch", "recompute")


def read_log(text: str) -> RunLog | None:
    """The run behind a log, or None when no line of it is of parc's train.py."""
    text = plain(text)
    lines = STEP.findall(text)
    if not lines:
        return None
    said, clashes = layout_said(text)
    return RunLog(
        target="accelerate",
        unit="seconds",
        paces=merged(Pace(int(step), number(seconds)) for step, seconds in lines),
        layout=numbers_said(said, LAYOUT_NAMES),
        train=numbers_said(said, ("global_batch", "seq_len")),
        model=numbers_said(said, SIZES),
        clashes=clashes,
    )

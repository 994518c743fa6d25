"""Lines of parc's train.py under accelerate -> `RunLog`: the layout and the steps."""

import re
from collections.abc import Iterable, Mapping

from ....compiler.plan import RECOMPUTE
from ...log import Pace, RunLog, agreed, merged, number, plain, whole

#: What `Report` of the emitted train.py prints.
STEP = re.compile(r"\bstep (\d{1,15}) of \d+: loss .{0,200}?, (\d+(?:\.\d+)?) s a step,")
LAYOUT = re.compile(r"\blayout ((?:\w+=\w+(?=\s|\Z)[^\S\n]*)+)")
LAYOUT_NAMES = ("pp", "dp_shard", "zero", "gpus", "micro_batch", "recompute")
SIZES = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")


def read_log(text: str) -> RunLog | None:
    """The run behind a log, or None when no line of it is of parc's train.py."""
    text = plain(text)
    lines = STEP.findall(text)
    if not lines:
        return None
    said, clashes = agreed(re.findall(r"\b(\w+)=(\w+)", " ".join(LAYOUT.findall(text))))
    return RunLog(
        target="accelerate",
        unit="seconds",
        paces=merged(Pace(int(step), number(seconds)) for step, seconds in lines),
        layout=_numbers(said, LAYOUT_NAMES),
        train=_numbers(said, ("global_batch", "seq_len")),
        model=_numbers(said, SIZES),
        clashes=clashes,
    )


def _numbers(said: Mapping[str, str], names: Iterable[str]) -> dict[str, int]:
    """Numbers that are announced, and the mode of recomputation as one."""
    found: dict[str, int] = {}
    for name in names:
        text = said.get(name, "")
        words = RECOMPUTE if name == "recompute" else ()
        value = words.index(text) if text in words else whole(text)
        found |= {} if value is None else {name: value}
    return found

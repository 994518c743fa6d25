"""DeepSpeed's standard output, or that of parc's train.py -> `RunLog`: the configuration and the steps."""

import re
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any

from ....compiler.plan import OFFLOAD
from ...log import (
    SIZES,
    Pace,
    RunLog,
    Unit,
    agreed,
    json_after,
    layout_said,
    merged,
    number,
    numbers_said,
    plain,
)
from ..option_rows import ROWS

#: Ways in which a step is reported, the most exact first: parc's train.py (`report`), DeepSpeed 0.19.8's
#: pipeline (runtime/pipe/engine.py:386) and its throughput timer (utils/timer.py:265).
LINES: tuple[tuple[Unit, re.Pattern[str]], ...] = (
    (
        "seconds",
        re.compile(r"\bstep (\d{1,15})/\d+ \| loss .{0,200}?\| (\d+(?:\.\d+)?) s/step"),
    ),
    (
        "seconds",
        re.compile(r"steps: (\d{1,15}) loss: .{0,400}?iter time \(s\): (\d+(?:\.\d+)?)(?=\s)"),
    ),
    (
        "sequences/s",
        re.compile(
            r"global_step=(\d{1,15}), RunningAvgSamplesPerSec=\S{1,40} "
            r"CurrSamplesPerSec=(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=, )"
        ),
    ),
)
#: Sequences per second and tokens per second give what a step holds.
SEQUENCES = re.compile(r"iter time \(s\): (\d+(?:\.\d+)?) samples/sec: (\d+(?:\.\d+)?)")
TOKENS = re.compile(r"\| (\d+(?:\.\d+)?) s/step \| (\d[\d,]*) tokens/s")
#: utils/timer.py:141, with `wall_clock_breakdown`: milliseconds of the whole step on rank 0; a backward pass
#: holds what is reduced in it, `step` the optimizer with the gradients' norm and the gathering of weights.
TIMERS = re.compile(
    r"time \(ms\) \| fwd: (\d+\.\d+) \| bwd: (\d+\.\d+) \|.{0,200}?\| step: (\d+\.\d+)"
)
#: runtime/config.py:664
CONFIG = re.compile(r"json = (?=\{)")


def read_log(text: str) -> RunLog | None:
    """The run behind a log, or None when no line of it is DeepSpeed's or of parc's train.py."""
    text = plain(text)
    reports = [(unit, lines) for unit, line in LINES if (lines := line.findall(text))]
    if not reports:
        return None
    unit, lines = reports[0]
    configs = json_after(text, CONFIG)
    config = next(iter(configs), {})
    announced, clashes = layout_said(text)
    _, changed = agreed(pair for each in configs for pair in _facts(each))
    return RunLog(
        target="deepspeed",
        unit=unit,
        paces=merged(Pace(int(step), number(value)) for step, value in lines),
        layout=_layout(config) | numbers_said(announced, LAYOUT_NAMES),
        train=_train(config, text) | numbers_said(announced, ("global_batch", "seq_len")),
        model=numbers_said(announced, SIZES),
        stack=_stack(config),
        clashes=clashes + changed,
        step_tokens=_product(TOKENS, text, float),
        timers=_timers(text),
    )


def _timers(text: str) -> dict[str, float]:
    """The median of all reports but the first, in which all begins."""
    found = [[number(each) / 1000 for each in report] for report in TIMERS.findall(text)]
    if not found:
        return {}
    forward, backward, optimizer = zip(*(found[1:] or found), strict=True)
    passes = median(map(sum, zip(forward, backward, strict=True)))
    return {"passes": passes, "optimizer": median(optimizer)}


LAYOUT_NAMES = (
    "pp",
    "cp",
    "dp_shard",
    "zero",
    "hpz",
    "gpus",
    "micro_batch",
    "recompute",
    "offload",
)


def _layout(config: Mapping[str, Any]) -> dict[str, int]:
    """Layout variables of the configuration. Pipeline stages and recomputation are the program's own."""
    printed = ROWS.printed("layout")
    found = {name: _at(config, *key.split(".")) for name, key in printed.items()}
    layout = {name: value for name, value in found.items() if isinstance(value, int) and value >= 0}
    if config:
        layout |= {"offload": _offload(config)}
    return layout


def _stack(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Traffic by the configuration: stage 2 overlaps only with `overlap_comm` (zero/config.py)."""
    if not config:
        return None
    overlapped, stage = (_at(config, "zero_optimization", key) for key in ("overlap_comm", "stage"))
    found: dict[str, Any] = {}
    if isinstance(overlapped, bool) or stage in (2, 3):
        found["dp_overlap"] = overlapped if isinstance(overlapped, bool) else stage == 3
    if (dtype := _at(config, "communication_data_type")) in ("fp32", "bf16"):
        found["grad_dtype"] = dtype
    tensor = _at(config, "tensor_parallel", "tp_overlap_comm")
    return found | ({"tp_overlap": tensor} if isinstance(tensor, bool) else {})


def _facts(config: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """All that is read of a configuration."""
    found = _layout(config) | _train(config, "") | (_stack(config) or {})
    return ((name, str(value)) for name, value in found.items())


def _offload(config: Mapping[str, Any]) -> int:
    for name, what in (("offload_param", "all"), ("offload_optimizer", "optimizer")):
        if _at(config, "zero_optimization", name, "device") not in (None, "none"):
            return OFFLOAD.index(what)
    return 0


def _at(values: Any, *keys: str) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _train(config: Mapping[str, Any], text: str) -> dict[str, Any]:
    train: dict[str, Any] = {}
    if isinstance(batch := _at(config, "train_batch_size"), int):
        train["global_batch"] = batch
    elif product := _product(SEQUENCES, text, round):
        train["global_batch"] = product
    halves = [name for name in ("bf16", "fp16") if _at(config, name, "enabled") is True]
    return train | dict(zip(["precision"], halves, strict=False))


def _product(line: re.Pattern[str], text: str, kind: Callable[[float], Any]) -> Any:
    """Time by rate of the slowest step, which rounding touches least; None when there is none."""
    found = [(number(seconds), number(rate)) for seconds, rate in line.findall(text)]
    return kind(max(found)[0] * max(found)[1]) if found else None

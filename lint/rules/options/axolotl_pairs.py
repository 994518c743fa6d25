"""Keys of axolotl's YAML that its schema refuses together, or one without another.

Why:
`axolotl train` validates the file before it starts anything, and stops.

Bad:
--- train.sh
axolotl train full.yaml
--- full.yaml
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
micro_batch_size: 1
gradient_accumulation_steps: 8
warmup_steps: 100
warmup_ratio: 0.03

Good:
--- train.sh
axolotl train full.yaml
--- full.yaml
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
micro_batch_size: 1
gradient_accumulation_steps: 8
warmup_ratio: 0.03
"""

from collections.abc import Iterator
from dataclasses import replace

from ....backends.huggingface.axolotl_schema import (
    ADAPTER,
    BY_STEPS,
    CLASHES,
    CONFIG,
    EIGHT_BITS,
    EVAL_PACKED,
    FOUR_BITS,
    HELD_OUT,
    NEEDS,
    OPTIMIZER,
    OWN_DATA,
    PACKED,
    TABLE,
)
from ....backends.huggingface.option_rows import BASE, EVAL_STEPS, EVALUATES
from ....reading.facts import Setting, Unknown, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR462"
TITLE = "keys that axolotl refuses together"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "axolotl-ai-cloud/axolotl@00eea011 src/axolotl/utils/schemas/validation.py, and @0134093a "
    "utils/config/models/input/v0_4_1; axolotl-ai-cloud/axolotl#1388, #1682"
)
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

_OFF = ("", "null", "none", "~", "false", "0", "0.0", "no", "off")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.setting("yaml", BASE) is None:
        return
    for one, other in CLASHES:
        at, met = _given(launch, one), _given(launch, other)
        if at is not None and met is not None:
            yield _complaint(f"{one} and {other} are both set", met, at)
    for name, wanted in NEEDS:
        at = _given(launch, name)
        if at is not None and not any(_may_be_given(launch, each) for each in wanted):
            yield _complaint(f"{name} needs {' or '.join(wanted)}", at)
    for rule in (_strategies, _nothing_held_out, _tables_of_packed, _muon, _four_bits):
        yield from rule(launch)


def _complaint(message: str, at: Setting, other: Setting | None = None) -> Complaint:
    related = (Related(other.name, other),) if other is not None else ()
    return Complaint(f"{message}: axolotl stops", at, related)


def _given(launch: LaunchedJob, name: str) -> Setting | None:
    """A key with a known value that counts as true in Python, or a list or section below it; None where an
    option of the command may replace it."""
    if launch.option(_option(name)) is not None:
        return None
    own = launch.setting("yaml", name)
    if own is not None:
        return own if (text_of(own) or "").lower() not in _OFF else None
    below = (each for each in launch.all("yaml") if each.name.startswith(f"{name}."))
    first = next(below, None)
    return None if first is None else replace(first, name=name)


def _may_be_given(launch: LaunchedJob, name: str) -> bool:
    own = launch.setting("yaml", name)
    unknown = own is not None and any(isinstance(value, Unknown) for value in own.values)
    return unknown or launch.option(_option(name)) is not None or _given(launch, name) is not None


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _strategies(launch: LaunchedJob) -> Iterator[Complaint]:
    for name, counted in BY_STEPS:
        strategy, at = _given(launch, name), _given(launch, counted)
        if strategy is not None and at is not None and text_of(strategy) != "steps":
            yield _complaint(f"{name} {text_of(strategy)} beside {counted}", strategy, at)


def _nothing_held_out(launch: LaunchedJob) -> Iterator[Complaint]:
    """Evaluation is asked for, and `val_set_size` is written as 0."""
    held = launch.setting("yaml", HELD_OUT)
    asked = _given(launch, EVAL_STEPS) or _given(launch, EVALUATES[0])
    if held is None or text_of(held) not in ("0", "0.0") or asked is None:
        return
    if launch.option(_option(HELD_OUT)) is None and not _may_be_given(launch, OWN_DATA):
        yield _complaint(f"{asked.name} beside {HELD_OUT} 0", asked, held)


def _tables_of_packed(launch: LaunchedJob) -> Iterator[Complaint]:
    table, packed = _given(launch, TABLE), _given(launch, PACKED)
    own = text_of(launch.setting("yaml", EVAL_PACKED)) or "null"
    if table is not None and packed is not None and own.lower() != "false":
        message = f"{TABLE} with {PACKED} needs {EVAL_PACKED} false"
        yield _complaint(message, table, packed)


def _muon(launch: LaunchedJob) -> Iterator[Complaint]:
    """Releases that have the optimizer refuse it beside DeepSpeed, and earlier ones have none."""
    optimizer, config = _given(launch, OPTIMIZER), _given(launch, CONFIG)
    if optimizer is not None and config is not None and text_of(optimizer) == "muon":
        yield _complaint(f"{OPTIMIZER} muon beside {CONFIG}", optimizer, config)


def _four_bits(launch: LaunchedJob) -> Iterator[Complaint]:
    """The adapter qlora is one of a model in 4 bits, and not in 8."""
    adapter = _given(launch, ADAPTER)
    if adapter is None or text_of(adapter) != "qlora":
        return
    eight = _given(launch, EIGHT_BITS) or _given(launch, "gptq")
    if eight is not None:
        yield _complaint(f"{ADAPTER} qlora beside {eight.name}", eight, adapter)
    elif not _may_be_given(launch, FOUR_BITS):
        yield _complaint(f"{ADAPTER} qlora needs {FOUR_BITS}", adapter)

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

from ....backends.huggingface.option_rows import BASE
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

#: Two keys, of which one at most is set.
CLASHES = (
    ("deepspeed", "fsdp"),
    ("test_datasets", "val_set_size"),
    ("warmup_steps", "warmup_ratio"),
    ("saves_per_epoch", "save_steps"),
    ("evals_per_epoch", "eval_steps"),
    ("gradient_accumulation_steps", "batch_size"),
    ("sample_packing", "rl"),
    ("max_memory", "gpu_memory_limit"),
    ("do_causal_lm_eval", "eval_sample_packing"),
    ("flash_attn_cross_entropy", "unsloth_cross_entropy_loss"),
)
#: A key that is set, and those of which it needs one.
NEEDS = (
    ("pretraining_dataset", ("max_steps",)),
    ("push_dataset_to_hub", ("hf_use_auth_token",)),
    ("peft_layers_pattern", ("peft_layers_to_transform",)),
    ("do_bench_eval", ("evals_per_epoch", "eval_steps")),
    ("load_in_8bit", ("adapter",)),
    ("load_in_4bit", ("adapter",)),
)
#: A strategy other than `steps`, and the key that it may not meet.
BY_STEPS = (
    ("save_strategy", "save_steps"),
    ("eval_strategy", "eval_steps"),
    ("eval_strategy", "evals_per_epoch"),
)
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
    held = launch.setting("yaml", "val_set_size")
    asked = _given(launch, "eval_steps") or _given(launch, "eval_strategy")
    if held is None or text_of(held) not in ("0", "0.0") or asked is None:
        return
    if launch.option(_option("val_set_size")) is None and not _may_be_given(
        launch, "test_datasets"
    ):
        yield _complaint(f"{asked.name} beside val_set_size 0", asked, held)


def _tables_of_packed(launch: LaunchedJob) -> Iterator[Complaint]:
    table, packed = _given(launch, "eval_table_size"), _given(launch, "sample_packing")
    own = text_of(launch.setting("yaml", "eval_sample_packing")) or "null"
    if table is not None and packed is not None and own.lower() != "false":
        message = "eval_table_size with sample_packing needs eval_sample_packing false"
        yield _complaint(message, table, packed)


def _muon(launch: LaunchedJob) -> Iterator[Complaint]:
    """Releases that have the optimizer refuse it beside DeepSpeed, and earlier ones have none."""
    optimizer, config = _given(launch, "optimizer"), _given(launch, "deepspeed")
    if optimizer is not None and config is not None and text_of(optimizer) == "muon":
        yield _complaint("optimizer muon beside deepspeed", optimizer, config)


def _four_bits(launch: LaunchedJob) -> Iterator[Complaint]:
    """What the adapter qlora is: a model in 4 bits, and not in 8."""
    adapter = _given(launch, "adapter")
    if adapter is None or text_of(adapter) != "qlora":
        return
    eight = _given(launch, "load_in_8bit") or _given(launch, "gptq")
    if eight is not None:
        yield _complaint(f"adapter qlora beside {eight.name}", eight, adapter)
    elif not _may_be_given(launch, "load_in_4bit"):
        yield _complaint("adapter qlora needs load_in_4bit", adapter)

"""A YAML of nanotron, alone or named by a launched command -> the job's facts.

huggingface/nanotron@2411b02, src/nanotron/config/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ...reading.bash.script import Folder
from ...reading.bash.values import Word
from ...reading.facts import Fact, Kind, LaunchConfig, Unknown, Unread, Value
from ...reading.launchers import Started
from ...reading.named_files import named_file
from ...reading.yaml_settings import Scalar, placed_scalars
from ..yaml_jobs import yaml_job

CONFIG = "--config-file"
#: Two blocks that every such file has, and no other trainer's.
_BLOCKS = tuple(
    re.compile(rf"^{name}:\s*(?:#.*)?$", re.MULTILINE) for name in ("parallelism", "tokens")
)
_MODEL = "model.model_config."
#: Fact -> its key.
KEYS = {
    "tp": "parallelism.tp",
    "pp": "parallelism.pp",
    "cp": "parallelism.context_parallel_size",
    "ep": "parallelism.expert_parallel_size",
    "dp": "parallelism.dp",
    "zero": "optimizer.zero_stage",
    "micro_batch": "tokens.micro_batch_size",
    "microbatches": "tokens.batch_accumulation_per_replica",
    "seq_len": "tokens.sequence_length",
    "layers": f"{_MODEL}num_hidden_layers",
    "hidden": f"{_MODEL}hidden_size",
    "heads": f"{_MODEL}num_attention_heads",
    "kv_heads": f"{_MODEL}num_key_value_heads",
    "experts": f"{_MODEL}moe_config.num_experts",
}
#: What the parallelism block has without a word.
DEFAULTS = {"cp": 1, "ep": 1}
#: Keys under which other models, or releases, say the same.
OTHERS = {
    "kv_heads": (f"{_MODEL}num_kv_heads",),
    "experts": (f"{_MODEL}moe_num_experts", f"{_MODEL}num_experts"),
}
_PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_ORDERS = {"1f1b": "1f1b", "afab": "gpipe"}
Answer = tuple[str, Value | Unknown, Word]


def is_config(text: str) -> bool:
    return all(block.search(text) for block in _BLOCKS)


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """The job of such a file; nothing for a YAML of another kind."""
    if is_config(text):
        yield yaml_job(path, text, "nanotron", _placed)


_COMMAND = Kind("nanotron", carrier="bash")


def job(launch: Started, texts: Mapping[str, str], folder: Folder) -> LaunchConfig | None:
    """The job of a command that names such a file; None for another one."""
    option = launch.options().values.get(CONFIG)
    if option is None or not option.values:
        return None
    found = named_file(launch, option.values[0].pieces, texts, folder)
    if found is None or not is_config(found.source.text):
        return None
    try:
        scalars = placed_scalars(found.source)
    except ValueError as error:
        return LaunchConfig(_COMMAND, (), (Unread.because(error, found.path),))
    files = {} if found.text is None else {found.path: found.text}
    told = tuple(scalar.setting() for scalar in scalars.values())
    return LaunchConfig(_COMMAND, (*_placed(scalars), *_shape(launch)), (), told, None, files)


def _shape(launch: Started) -> Iterator[Fact]:
    for name, (value, place) in launch.shape.items():
        yield Fact(name, value, place.path, place.line, place.column)


def _placed(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    for name, value, place in _facts(scalars):
        yield Fact(name, value, place.path, place.line, place.column)


def _facts(scalars: Mapping[str, Scalar]) -> Iterator[Answer]:
    values: dict[str, Answer] = {}
    for name, key in KEYS.items():
        scalar = next((scalars[k] for k in (key, *OTHERS.get(name, ())) if k in scalars), None)
        if scalar is None or scalar.value is None:
            continue
        values[name] = (name, _number(scalar), scalar.word)
    start = next(iter(scalars.values())).word
    for name, value in DEFAULTS.items():
        values.setdefault(name, (name, value, start))
    if "kv_heads" not in values and "heads" in values:
        values["kv_heads"] = ("kv_heads", *values["heads"][1:])
    yield from values.values()
    yield from _worded(scalars)
    factors = [values[name] for name in ("micro_batch", "microbatches", "dp") if name in values]
    if len(factors) == 3:
        yield "global_batch", _product(factors), factors[0][2]


def _number(scalar: Scalar) -> Value | Unknown:
    value = scalar.value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if isinstance(value, Unknown) else Unknown(f"`{scalar.text}` is not a number")


def _product(factors: Sequence[Answer]) -> Value | Unknown:
    product = 1
    for _, value, _ in factors:
        if not isinstance(value, int):
            return value if isinstance(value, Unknown) else Unknown("a factor is not a number")
        product *= value
    return product


def _worded(scalars: Mapping[str, Scalar]) -> Iterator[Answer]:
    """Facts given by a word or a switch: precision, recomputation, the order of a pipeline's passes."""
    for name, key, words in (
        ("precision", "model.dtype", _PRECISIONS),
        ("order", "parallelism.pp_engine", _ORDERS),
    ):
        if key in scalars:
            text = scalars[key].text.lower().removeprefix("torch.")
            yield name, words.get(text, Unknown(f"`{text}` is not known")), scalars[key].word
    again = scalars.get("parallelism.recompute_layer")
    if again is not None and isinstance(again.value, bool):
        yield "recompute", "full" if again.value else "none", again.word

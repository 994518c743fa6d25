"""YAML with arguments of Hugging Face's Trainer (LLaMA-Factory, TRL), or of axolotl -> the facts of a job.

The DeepSpeed config that it names is read with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ....reading.bash.source import file_source
from ....reading.facts import Fact, Kind, LaunchConfig, Unknown, Unread, Value
from ....reading.named_files import missing
from ....reading.yaml_settings import Scalar, yaml_scalars
from . import settings
from .document import NotADocument, Table, document
from .files import offload

#: Fact -> keys of the top level; the first that is there counts.
NUMBERS = {
    "micro_batch": ("per_device_train_batch_size", "micro_batch_size"),
    "microbatches": ("gradient_accumulation_steps",),
    "seq_len": ("cutoff_len", "sequence_len", "max_seq_length", "max_length", "model_max_length"),
}
_BATCH = re.compile(r"^(?:per_device_train_batch_size|micro_batch_size)\s*:", re.MULTILINE)
_TRAINER = re.compile(
    r"^(?:model_name_or_path|base_model|learning_rate|num_train_epochs|output_dir)\s*:",
    re.MULTILINE,
)

_YAML = Kind("trainer", carrier="yaml")


def is_config(text: str) -> bool:
    return _BATCH.search(text) is not None and _TRAINER.search(text) is not None


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """The job of such a file, of which nobody says on how many GPUs; nothing for a YAML of another kind."""
    if not is_config(text):
        return
    try:
        scalars = yaml_scalars(path, text)
    except ValueError as error:
        yield LaunchConfig(_YAML, (), (Unread.because(error, path),), texts={path: text})
        return
    found = tuple(trainer_facts(scalars))
    told = [scalar.setting() for scalar in scalars.values()]
    config = LaunchConfig(_YAML, found, (), tuple(told), None, {path: text})
    named = scalars.get("deepspeed")
    yield config if named is None or named.value is None else _linked(config, named, texts)


def trainer_facts(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    """Facts of a trainer's YAML, by its keys of the top level."""
    yield from _numbers(scalars)
    yield from _precision(scalars)
    yield from _recompute(scalars)


def _linked(config: LaunchConfig, named: Scalar, texts: Mapping[str, str]) -> LaunchConfig:
    """With what the DeepSpeed config says, where it is among the files."""
    there = _found(named, texts)
    unread: tuple[Unread, ...] = ()
    table: Table | None = None
    if there is None:
        unread = (missing("DeepSpeed config", named.word),)
    else:
        try:
            table = document(file_source(there, texts[there]))
        except NotADocument as error:
            unread = (Unread.because(error, *error.place),)
    if there is None or table is None:
        return replace(config, framework="deepspeed", unread=unread)
    own = {fact.name for fact in config.facts}
    said = [*settings.facts(there, table), offload(there, table)]
    facts = [fact for fact in said if fact.name not in own and "auto" not in str(fact.value)]
    return replace(
        config,
        framework="deepspeed",
        facts=(*config.facts, *facts),
        settings=(*config.settings, *settings.settings(table)),
        texts={**config.texts, there: texts[there]},
    )


def _found(named: Scalar, texts: Mapping[str, str]) -> str | None:
    """The file that is named, from the current folder or from the YAML's own."""
    folder = os.path.dirname(named.path)
    paths = (os.path.normpath(named.text), os.path.normpath(os.path.join(folder, named.text)))
    return next((path for path in paths if path in texts), None)


def _numbers(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    for name, keys in NUMBERS.items():
        scalar = next((scalars[key] for key in keys if key in scalars), None)
        if scalar is None or scalar.value is None:
            continue
        known = isinstance(scalar.value, int) and not isinstance(scalar.value, bool)
        value = scalar.unknown or Unknown(f"`{scalar.text}` is not a whole number")
        yield _fact(name, scalar.value if known else value, scalar)


def _precision(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    for name in ("bf16", "fp16"):
        scalar = scalars.get(name)
        if scalar is not None and scalar.value is True:
            yield _fact("precision", name, scalar)
            return
        if scalar is not None and isinstance(scalar.value, str | Unknown):
            found = Unknown(f"`{name}: {scalar.text}` is found at the start")
            yield _fact("precision", scalar.unknown or found, scalar)
            return


def _recompute(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    scalar = scalars.get("gradient_checkpointing")
    if scalar is not None and scalar.unknown is not None:
        yield _fact("recompute", scalar.unknown, scalar)
    elif scalar is not None and isinstance(scalar.value, bool):
        yield _fact("recompute", "full" if scalar.value else "none", scalar)


def _fact(name: str, value: Value | Unknown | None, scalar: Scalar) -> Fact:
    told = Unknown("null") if value is None else value
    return Fact(name, told, scalar.path, scalar.line, scalar.column)

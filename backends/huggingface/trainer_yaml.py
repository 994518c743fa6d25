"""YAML with arguments of Hugging Face's Trainer (LLaMA-Factory, TRL), or of axolotl -> the facts of a job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...reading.facts import Fact, Unknown, Value
from ...reading.yaml_settings import Scalar
from .option_rows import BASE, TRAINER, of_axolotl

#: The argument that names a DeepSpeed config.
DEEPSPEED = TRAINER.by_name["deepspeed"].name
#: Keys of the top level whose value is a number of the batch; the first name of each that is there counts.
BATCH = tuple(TRAINER.fact(name) for name in ("micro_batch", "microbatches", "seq_len"))
#: Degrees, of which axolotl alone has keys.
DEGREES = tuple(TRAINER.fact(name) for name in ("tp", "cp", "dp_shard", "dp_replicate"))
#: Either half precision, the first that is on counting.
PRECISIONS = tuple(row for row in TRAINER.facts if row.fact == "precision")
_AGAIN = TRAINER.fact("recompute")
_SIZE = re.compile(rf"^(?:{'|'.join(TRAINER.fact('micro_batch').names)})\s*:", re.MULTILINE)
_TRAINER = re.compile(
    rf"^(?:model_name_or_path|{BASE}|learning_rate|num_train_epochs|output_dir)\s*:",
    re.MULTILINE,
)


def is_config(text: str) -> bool:
    return _SIZE.search(text) is not None and _TRAINER.search(text) is not None


def trainer_facts(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    """Facts of a trainer's YAML, by its keys of the top level."""
    yield from _numbers(scalars)
    yield from _precision(scalars)
    yield from _recompute(scalars)


def _numbers(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    for row in (*BATCH, *(DEGREES if of_axolotl(scalars) else ())):
        scalar = next((scalars[name] for name in row.names if name in scalars), None)
        if scalar is None or scalar.value is None:
            continue
        known = isinstance(scalar.value, int) and not isinstance(scalar.value, bool)
        value = scalar.unknown or Unknown(f"`{scalar.text}` is not a whole number")
        yield _fact(row.fact, scalar.value if known else value, scalar)


def _precision(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    for row in PRECISIONS:
        scalar = scalars.get(row.name)
        if scalar is not None and scalar.value is True:
            yield _fact(row.fact, row.decoded(True), scalar)
            return
        if scalar is not None and isinstance(scalar.value, str | Unknown):
            later = Unknown(f"`{row.name}: {scalar.text}` is found at the start")
            yield _fact(row.fact, scalar.unknown or later, scalar)
            return


def _recompute(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    scalar = scalars.get(_AGAIN.name)
    if scalar is not None and scalar.unknown is not None:
        yield _fact(_AGAIN.fact, scalar.unknown, scalar)
    elif scalar is not None and isinstance(scalar.value, bool):
        yield _fact(_AGAIN.fact, _AGAIN.decoded(scalar.value), scalar)


def _fact(name: str, value: Value | Unknown | None, scalar: Scalar) -> Fact:
    told = Unknown("null") if value is None else value
    return Fact(name, told, scalar.path, scalar.line, scalar.column)

"""The name of a checkpoint -> its model: an entry of the standard library, else a line of
benchmarks/data/tuning_models.csv, else the nearest of the library by the size in the name."""

from __future__ import annotations

import csv
import functools
import re
from pathlib import Path
from typing import Any

from benchmarks.accuracy.rows.csv_rows import Unusable
from parc.compiler.model import parameters
from parc.dsl.model import Model
from parc.dsl.model_names import library_model
from parc.dsl.standard import std_model

SHAPES = Path(__file__).parents[2] / "data" / "tuning_models.csv"
#: What names of checkpoints add to those of their base model: what was done with it, and a date.
_ADDED = re.compile(
    r"[-_.](?:instruct|chat|base|it|hf|sft|dpo|rl|full|pt|thinking|coder|math|fp8|int4|int8|awq|gptq|bf16|"
    r"dequantized|bnb|4bit|nf4|linearized|v\d+(?:\.\d+)?|\d{4}|preview|unsloth)(?=[-_.]|$)",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?<![\w.])(\d{1,4}(?:[._]\d{1,2})?) ?b(?![a-z])", re.IGNORECASE)
#: Encoder-decoders and models without attention, which the language has no words for.
_ELSE = re.compile(r"(?:^|[-_/])(?:mt0|t5|flan|bart|mamba|rwkv|whisper)", re.IGNORECASE)
#: Models with experts that stand for any that names its active parameters too, below and above this size.
_WITH_EXPERTS, _LARGE = ("qwen3_30b_a3b", "qwen3_235b_a22b"), 100e9
_ACTIVE = re.compile(r"(?<![a-z])a\d{1,3}(?:\.\d)?b(?![a-z])", re.IGNORECASE)
#: Sizes of dense models that stand for any of about their size.
_BY_SIZE = (
    "qwen2_5_0_5b", "llama3_2_1b", "qwen2_5_1_5b", "llama3_2_3b", "qwen3_4b", "llama3_8b", "llama2_13b",
    "qwen2_5_14b", "qwen3_32b", "llama3_70b", "llama3_405b",
)  # fmt: skip


def model_of(name: str) -> tuple[Model, float, bool]:
    """A model, parameters of its other parts, and whether only its size is known. Raises Unusable."""
    if not name:
        raise Unusable("no model named")
    if _ELSE.search(name):
        raise Unusable(f"{name}: not a decoder of attention layers")
    short = name.rpartition("/")[2]
    for each in dict.fromkeys((name, short, *_shorter(short))):
        if (entry := library_model(each)) is not None:
            return std_model(entry), 0.0, False
        if (known := _shapes().get(_key(each))) is not None:
            return *known, False
    return _by_size(name), 0.0, True


def _shorter(name: str) -> list[str]:
    """The name with fewer and fewer of the words that are no base model's."""
    found = []
    while (less := _ADDED.sub("", name, count=1)) != name:
        found.append(less)
        name = less
    return found


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


@functools.cache
def _shapes() -> dict[str, tuple[Model, float]]:
    found: dict[str, tuple[Model, float]] = {}
    with SHAPES.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            sizes: dict[str, Any] = {
                key: int(text) for key, text in line.items() if text and key not in _WORDS
            }
            model = Model(**sizes, tied=line["tied"] == "1", gated=line["gated"] == "1")
            other = float(line["other_b"] or 0) * 1e9
            found |= {_key(name): (model, other) for name in line["names"].split(";")}
    return found


_WORDS = ("names", "tied", "gated", "other_b")


def _by_size(name: str) -> Model:
    """The model of the library of about the size in the name, with as many layers as make it that."""
    sizes = [float(text.replace("_", ".")) for text in _SIZE.findall(name)]
    if not sizes or not 0.05 <= max(sizes) <= 2000:
        raise Unusable(f"{name}: shape not known")
    wanted = max(sizes) * 1e9
    names: tuple[str, ...] = _BY_SIZE
    if _ACTIVE.search(name):
        names = (_WITH_EXPERTS[wanted > _LARGE],)
    near = min(map(std_model, names), key=lambda model: abs(parameters.total(model) - wanted))
    block = (parameters.moe_layer(near) if near.moe else parameters.dense_layer(near)).total
    layers = max(1, round(near.layers + (wanted - parameters.total(near)) / block))
    return near.model_copy(update={"layers": layers})

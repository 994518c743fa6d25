"""The config.json beside a train.py -> the sizes of the model as facts."""

from collections.abc import Iterator, Mapping
from typing import Any

from ....dsl.inputs.documents import json_value
from ....reading.facts import Fact

_SIZES = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
}


def sizes(path: str, text: str) -> Iterator[Fact]:
    values = config(text)
    for name, key in _SIZES.items():
        if isinstance(value := values.get(key), int):
            yield Fact(name, value, path, _line(text, key))


def config(text: str) -> Mapping[str, Any]:
    """The object of the file; empty for one that is none."""
    try:
        values = json_value(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _line(text: str, key: str) -> int:
    lines = text.splitlines()
    return next((number for number, line in enumerate(lines, 1) if f'"{key}"' in line), 1)

"""The safetensors files beside a config.json -> how many parameters they hold, without reading a weight."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...dsl.inputs.documents import json_value
from ...dsl.inputs.files import first_bytes, text_of

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
#: Bytes of an element by transformers' name of the type.
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
#: Bytes of the longest header that the format allows (safetensors 0.4, MAX_HEADER_SIZE).
_LONGEST_HEADER = 100_000_000
#: The matrix that a tied model shares with its embedding; some files hold it twice.
_HEAD = "lm_head.weight"
#: Tables of tokens that layers of multi-token prediction share with the model, and files hold again:
#: DeepSeek-V3's and GLM-4.5's `model.layers.61.embed_tokens.weight` and `...shared_head.head.weight`.
_COPY = re.compile(r"\.layers\.\d+\.(embed_tokens|shared_head\.head)\.weight$")


@dataclass(frozen=True)
class StoredWeights:
    """`count` parameters in `file`; `names` are those of its tensors."""

    file: str
    count: int
    names: frozenset[str]

    def copies(self, tied: bool) -> int:
        """Tables of tokens that are held again, of a model whose head is `tied` or not."""
        shared = sum(1 for name in self.names if _COPY.search(name))
        return shared + (tied and _HEAD in self.names)


def stored_weights(folder: Path, dtype: str | None) -> StoredWeights | None:
    """Size of the weights by their index, or by the header of the only file; None without either, or where
    it cannot be read."""
    try:
        if (folder / INDEX).is_file():
            return _of_index(json_value(text_of(folder / INDEX)), dtype)
        if (folder / SINGLE).is_file():
            return _of_header(folder / SINGLE)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, struct.error):
        return None
    return None


def _of_index(index: Mapping[str, Any], dtype: str | None) -> StoredWeights | None:
    """Newer indices count parameters (transformers 4.50 on), all have their bytes."""
    metadata, names = index["metadata"], frozenset(index["weight_map"])
    if count := metadata.get("total_parameters"):
        return StoredWeights(INDEX, int(count), names)
    width = _BYTES.get(dtype or "")
    return StoredWeights(INDEX, int(metadata["total_size"]) // width, names) if width else None


def _of_header(path: Path) -> StoredWeights:
    """Eight bytes with the length of the header, and the header: JSON of names, types and shapes."""
    (length,) = struct.unpack("<Q", first_bytes(path, 8))
    text = first_bytes(path, 8 + min(length, _LONGEST_HEADER))[8:].decode()
    tensors = {name: each for name, each in json_value(text).items() if name != "__metadata__"}
    count = sum(math.prod(each["shape"]) for each in tensors.values())
    return StoredWeights(SINGLE, count, frozenset(tensors))

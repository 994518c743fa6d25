"""A tokenizer of words and a text that a model can learn, as torchtitan reads them without a network."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

#: Ids of the special tokens come first; no vocabulary of a shrunken model is smaller.
SPECIAL = ("[UNK]", "<bos>", "<eos>")
WORDS = 256 - len(SPECIAL)
TEXTS, LENGTH, STEPS = 400, 300, 8


def write_assets(folder: Path) -> None:
    """`folder`/tokenizer and `folder`/data."""
    tokenizer, data = folder / "tokenizer", folder / "data"
    tokenizer.mkdir(parents=True)
    data.mkdir()
    (tokenizer / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    settings = {"bos_token": "<bos>", "eos_token": "<eos>"}
    (tokenizer / "tokenizer_config.json").write_text(json.dumps(settings))
    lines = (json.dumps({"text": _text(seed)}) for seed in range(TEXTS))
    (data / "data.json").write_text("\n".join(lines) + "\n")


def _tokenizer() -> dict[str, Any]:
    """A Hugging Face tokenizer for which every word between spaces is a token."""
    words = (*SPECIAL, *(f"w{number}" for number in range(WORDS)))
    vocabulary = {word: number for number, word in enumerate(words)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIAL[0]},
    }


def _text(seed: int) -> str:
    """Words whose numbers rise by the same small step."""
    chance = random.Random(seed)
    start, step = chance.randrange(WORDS), chance.randrange(1, STEPS + 1)
    return " ".join(f"w{(start + step * place) % WORDS}" for place in range(LENGTH))

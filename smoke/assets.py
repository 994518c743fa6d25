"""Text that a model learns in a few steps: with a tokenizer for torchtitan, as token ids for DeepSpeed."""

from __future__ import annotations

import json
import random
import struct
from array import array
from pathlib import Path
from typing import Any

#: Ids of the special tokens come first; no vocabulary of a shrunken model is smaller than 256.
SPECIAL = ("[UNK]", "<bos>", "<eos>")
VOCABULARY = 256
#: Words that occur: so few that their share alone brings the loss down.
WORDS = 32
TEXTS, LENGTH, STEPS = 400, 300, 8
#: How Megatron-LM's index says that ids have 16 bits.
UINT16 = 8


def write_text(folder: Path, count: int = TEXTS) -> None:
    """`folder`/tokenizer and `folder`/data, of which every data-parallel rank reads texts of its own."""
    tokenizer, data = folder / "tokenizer", folder / "data"
    tokenizer.mkdir(parents=True)
    data.mkdir()
    (tokenizer / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    settings = {"bos_token": "<bos>", "eos_token": "<eos>"}
    (tokenizer / "tokenizer_config.json").write_text(json.dumps(settings))
    texts = (" ".join(f"w{word}" for word in _words(seed)) for seed in range(count))
    lines = (json.dumps({"text": text}) for text in texts)
    (data / "data.json").write_text("\n".join(lines) + "\n")


def write_tokens(path: Path) -> None:
    """A flat file of 16-bit token ids."""
    path.parent.mkdir(parents=True)
    ids = array("H", (word + len(SPECIAL) for seed in range(TEXTS) for word in _words(seed)))
    path.write_bytes(ids.tobytes())


def write_documents(prefix: Path) -> None:
    """`prefix`.bin and .idx, as Megatron-LM's indexed_dataset.py reads them: 16-bit token ids, their
    documents' lengths and where each begins."""
    write_tokens(prefix.with_suffix(".bin"))
    lengths = array("i", [LENGTH] * TEXTS)
    begins = array("q", range(0, 2 * LENGTH * TEXTS, 2 * LENGTH))
    documents = array("q", range(TEXTS + 1))
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, UINT16, TEXTS, TEXTS + 1)
    arrays = (lengths, begins, documents)
    prefix.with_suffix(".idx").write_bytes(head + b"".join(each.tobytes() for each in arrays))


def _tokenizer() -> dict[str, Any]:
    """A Hugging Face tokenizer for which every word between spaces is a token."""
    words = (*SPECIAL, *(f"w{number}" for number in range(VOCABULARY - len(SPECIAL))))
    vocabulary = {word: number for number, word in enumerate(words)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIAL[0]},
    }


def _words(seed: int) -> list[int]:
    """Numbers that rise by the same small step."""
    chance = random.Random(seed)
    start, step = chance.randrange(WORDS), chance.randrange(1, STEPS + 1)
    return [(start + step * place) % WORDS for place in range(LENGTH)]

"""Text that a model learns in a few steps, as token ids."""

import random
from array import array
from pathlib import Path

#: Ids of the special tokens come first; no vocabulary of a shrunken model is smaller than 256.
SPECIAL = ("[UNK]", "<bos>", "<eos>")
VOCABULARY = 256
#: Words that occur: so few that their share alone brings the loss down.
WORDS = 32
TEXTS, LENGTH, STEPS = 400, 300, 8


def write_tokens(path: Path) -> None:
    """A flat file of 16-bit token ids."""
    path.parent.mkdir(parents=True)
    ids = array("H", (word + len(SPECIAL) for seed in range(TEXTS) for word in words(seed)))
    path.write_bytes(ids.tobytes())


def words(seed: int) -> list[int]:
    """Numbers below `WORDS` that rise by the same small step, one text for each seed."""
    chance = random.Random(seed)
    start, step = chance.randrange(WORDS), chance.randrange(1, STEPS + 1)
    return [(start + step * place) % WORDS for place in range(LENGTH)]

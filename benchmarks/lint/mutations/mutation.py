"""One wrong edit of a launch file that parc wrote: each kind says by its own arithmetic that it is refused.

A mutation takes the files of a job and a random source, and gives the changed files and what was done, or
None where the job has nothing for it to spoil.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable

Files = dict[str, str]
Mutated = tuple[Files, str] | None
Mutation = Callable[[Files, random.Random], Mutated]


def pick(files: Files, suffix: str) -> str:
    return next(path for path in files if path.endswith(suffix))


def misspelt(word: str, chance: random.Random) -> str:
    """A word with one letter dropped, doubled, changed or swapped with its neighbour."""
    places = [index for index, letter in enumerate(word) if letter.isalpha()]
    index = chance.choice(places[1:] or places)
    kind = chance.randrange(4)
    if kind == 0:
        return word[:index] + word[index + 1 :]
    if kind == 1:
        return word[:index] + word[index] + word[index:]
    if kind == 2:
        letter = chance.choice([each for each in string.ascii_lowercase if each != word[index]])
        return word[:index] + letter + word[index + 1 :]
    before = word[index - 1] if index else ""
    swapped = word[: index - 1] + word[index] + before + word[index + 1 :] if index else word
    return swapped if swapped != word else word + word[-1]

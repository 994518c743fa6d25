"""Long texts of few kinds of characters, and numbers of thousands of digits, are answered soon."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.readers import READERS, Answer
from tests.support.drawn_sizes import THOROUGH

#: Characters of a text, texts of a kind, and what a text may take of a processor.
LONG, TEXTS = (250_000, 40) if THOROUGH else (50_000, 4)
MOST_SECONDS = 2.0
#: More digits than Python makes a number of.
DIGITS = "9" * 5_000
SEPARATORS = (" ", "\n", ",", "", "\\\n", " = ", ": ", "\t#", '"')
#: What sniffers, rules and readers look for.
WORDS = (
    "srun", "mkdir", "torchrun", "python train", "#SBATCH -", "kind: Job", "case", "sbatch", "export A=",
    "$X", "${A:-", "$((", "import nemo", "\"zero_optimization\"", "step: 1 loss:", "[training]", "- ", "(",
    "{", "[",
    "a", "0", "\n", " ", "\t", "#", "\"", "'", "\\", "é", "let a", "goal", "---\n", "a.b",
)  # fmt: skip


def long_texts() -> list[str]:
    pairs = [word + separator for word, separator in itertools.product(WORDS, SEPARATORS)]
    # A step that shares no factor with their number takes some of each.
    return [unit * (LONG // len(unit)) for unit in (pairs * 7)[:: 37 if THOROUGH else 41][:TEXTS]]


def seconds(answer: Answer, text: str, folder: Path) -> float:
    started = time.thread_time()
    answer(text, folder)
    return time.thread_time() - started


@pytest.mark.parametrize("kind", READERS)
def test_long_texts_are_answered_soon(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = READERS[kind]
    seeds = list(reader.seeds(tmp_path))
    reader.answer(seeds[0], tmp_path)
    slow = []
    for text in long_texts():
        for whole in (text, seeds[0] + "\n" + text):
            taken = seconds(reader.answer, whole, tmp_path)
            if taken > MOST_SECONDS:
                slow.append((text[:20], len(whole), round(taken, 1)))
    assert not slow


def with_digits(text: str) -> Iterator[str]:
    """The text with each of its first numbers, in turn, as one of thousands of digits."""
    for number in itertools.islice(re.finditer(r"\d+", text), 200 if THOROUGH else 12):
        yield text[: number.start()] + DIGITS + text[number.end() :]


@pytest.mark.parametrize("kind", READERS)
def test_numbers_of_thousands_of_digits_are_answered(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = READERS[kind]
    for seed in reader.seeds(tmp_path):
        for text in with_digits(seed):
            reader.answer(text, tmp_path)


@pytest.mark.parametrize("word", ["srun ", "$X ", "env A=1 "])
def test_a_command_of_many_words_is_read_once(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that start one another, and variables that vanish, at the front of a command of 250 KB: twice
    the time of a text whose words are not looked into."""
    monkeypatch.chdir(tmp_path)
    text = word * (250_000 // len(word))
    assert seconds(READERS["bash"].answer, text, tmp_path) < 2 * MOST_SECONDS

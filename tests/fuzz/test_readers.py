"""Whatever is in the files that parc reads, it ends with an answer or complaints, soon and in little memory.

`make fuzz` runs more than twenty times as many inputs as `make test`.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.readers import READERS
from tests.support.drawn_sizes import INPUTS, THOROUGH
from tests.support.hostile_texts import LINES, PIECES

#: What no input may take: seconds, and bytes more than before it.
MOST_SECONDS, MOST_BYTES = 5.0, 2**30
#: Characters of a long text: as many as a configuration may have in `make fuzz`.
LENGTH = 250_000 if THOROUGH else 4_000
#: What a long text may take.
SHAPE_SECONDS, SHAPE_BYTES = 2.0, 300 * 10**6
#: A seed -> a text of another shape.
SHAPES: dict[str, Callable[[str], str]] = {
    "empty": lambda seed: "",
    "long": lambda seed: seed * (LENGTH // len(seed) + 1),
    "one line": lambda seed: seed.replace("\n", " ") * (LENGTH // len(seed) + 1),
    "long line": lambda seed: seed + seed.replace("\n", " ") * (LENGTH // len(seed)),
    "long start": lambda seed: "\n" * LENGTH + seed,
    **{
        f"{name} repeated": partial(lambda sign, seed: seed[:200] + sign * LENGTH, sign)
        for name, sign in {
            "newline": "\n", "blank": " ", "letter": "a", "digit": "1", "hash": "#", "bracket": "[",
            "brace": "{",
            "parenthesis": "(", "quote": '"', "dollar": "$", "backslash": "\\", "dash": "-", "line": "a\n",
        }.items()
    },
}  # fmt: skip
HUGE = (
    "9" * 30, "9" * 5_000, "-1", "0", "1e999", "0x" + "f" * 400, "²", "\udcff", "\ud800", "\\ud800", "\0",
    "[" * 200, "{" * 200, "(" * 200, "a." * 200, "${" * 100, "$((", "$(", "<<EOF\n", "true", "null", "nan",
    "1e-300", "'" * 3, ",", "=", "[]", "{}",
)  # fmt: skip
#: What is put in; None stands for a part of the text itself. Made once: making it takes longer than drawing.
REPLACEMENTS = st.sampled_from((*PIECES, *LINES, *HUGE, None, "")) | st.text(max_size=9)


@st.composite
def mutated(draw: st.DrawFn, seeds: list[str]) -> str:
    """A text, some stretches of it replaced by what means something to a reader, or by its own parts."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 20)))
        piece = draw(REPLACEMENTS)
        if piece is None:
            own = draw(st.integers(0, len(text)))
            piece = text[own : own + 40]
        text = text[:start] + piece + text[stop:]
    return text


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("kind", READERS)
def test_any_text_gets_an_answer(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written beside what the reader was given: no string of it has run."""
    monkeypatch.chdir(tmp_path)
    reader = READERS[kind]
    given_files = tmp_path / "given"
    given_files.mkdir()
    seeds = list(reader.seeds(given_files))
    for seed in seeds:
        reader.answer(seed, given_files)
    before, names = peak_bytes(), {path.name for path in given_files.rglob("*")}

    @settings(
        max_examples=INPUTS,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutated(seeds))
    def answered(text: str) -> None:
        started = time.process_time()
        reader.answer(text, given_files)
        assert time.process_time() - started < MOST_SECONDS
        assert peak_bytes() - before < MOST_BYTES

    answered()
    assert {path.name for path in given_files.rglob("*")} == names
    assert [path.name for path in tmp_path.iterdir()] == ["given"]


@pytest.mark.parametrize("kind", READERS)
def test_a_text_of_any_shape_gets_an_answer(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = READERS[kind]
    seeds = list(reader.seeds(tmp_path))
    reader.answer(seeds[0], tmp_path)
    slow: list[str] = []
    for shape, of in SHAPES.items():
        before, started = peak_bytes(), time.process_time()
        reader.answer(of(seeds[0])[: LENGTH + 1_000], tmp_path)
        seconds, taken = time.process_time() - started, peak_bytes() - before
        if seconds > SHAPE_SECONDS or taken > SHAPE_BYTES:
            slow.append(f"{shape}: {seconds:.1f} s, {taken // 2**20} MiB")
    assert not slow

"""Texts drawn from what means something to bash, Python, TOML, JSON or the language of jobs."""

from __future__ import annotations

from random import Random

#: What quotes, expands, ends, comments and starts something in bash, Python, TOML or JSON.
PIECES = (
    "'", '"', "`touch canary`", "$(touch canary)", "<(touch canary)", ">(", "$1", "$?", "$$", "${", "}", "\\",
    "\\N{x}", "\\u12", "#", ";touch canary;", "&", "|", "*", "?", "~", "!", "%s", "{{ 7 }}", "{% x %}", '"""',
    "'''", "é", "日本", " ", "  ", "[0]", "(", ")", "=", "a", "/x", "-", "--y", ":", ",", "@", "^",
)  # fmt: skip
LINES = ("\n", "\r", "\t", "\x1b", "\x01", "\x7f")


def text_of(seed: int, pieces: tuple[str, ...] = PIECES) -> str:
    dice = Random(f"hostile {seed}")
    return "/d" + "".join(dice.choice(pieces) for _ in range(dice.randint(1, 8)))

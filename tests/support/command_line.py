"""One command of parc in this process: what it did and printed, on a small job of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

#: A place in the library and the four printed lines of it, whose margin is as wide as the line's number.
_QUOTE = re.compile(r"^ *--> (std/\w+\.par):\d+:(\d+)\n *\|\n *\d+ \|(.*)\n *\|(.*)$", re.MULTILINE)
JOB = """
model m { layers = 4; hidden = 512; heads = 8; ffn = 2048; vocab = 32_000 }
cluster c from std.dgx_h100 {}
train { seq_len = 1024; global_batch = 64; tokens = 1G }
goal { maximize mfu }
target megatron { data = "/data/text_document" }
target torchtitan { data = "/data/c4" }
launch slurm { time = 1 h }
"""
IMPOSSIBLE = JOB.replace("maximize mfu", "maximize mfu; require memory <= 1 MiB")


class Ran:
    """What one command did."""

    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err


Parc = Callable[..., Ran]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def without_library_lines(text: str) -> str:
    """The same without line numbers of the standard library, whose entries parc quotes."""
    return _QUOTE.sub(r" --> \1:*:\2\n  |\n* |\3\n  |\4", text)

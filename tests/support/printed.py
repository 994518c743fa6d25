"""What parc prints -> the same without line numbers of the standard library, whose entries it quotes."""

from __future__ import annotations

import re

#: A place in the library and the four printed lines of it, whose margin is as wide as the line's number.
_QUOTE = re.compile(r"^ *--> (std/\w+\.par):\d+:(\d+)\n *\|\n *\d+ \|(.*)\n *\|(.*)$", re.MULTILINE)


def without_library_lines(text: str) -> str:
    return _QUOTE.sub(r" --> \1:*:\2\n  |\n* |\3\n  |\4", text)

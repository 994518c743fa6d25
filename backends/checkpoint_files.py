"""A folder of checkpoints -> names and texts in it, and numbers that its files begin with.

Checkpoints are pickles, which run code where they are loaded: nothing is loaded here. A pickle is searched
for the bytes of a name that a number, a truth or a text follows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from ..dsl.inputs.files import NotReadable, OverLimit, first_bytes

#: Names of a folder that are looked at, bytes of a file that says which is the newest, and those at the start
#: of a checkpoint's file, where torch.save and PyTorch's distributed checkpoints have what is no tensor.
MOST_NAMES, MOST_TEXT, MOST_HEAD = 100_000, 64 * 1024, 16 * 2**20
#: What may stand behind a name (it is memorized), then the opcodes of pickle's values.
_VALUE = re.compile(
    rb"(?:q.|r....|\x94)?(?:K(.)|M(..)|J(....)|(\x88)|(\x89)|X(....)|\x8c(.))", re.DOTALL
)
_LONGEST = 100


@dataclass(frozen=True)
class Pickled:
    """The first bytes of a file that holds a pickle, of protocol 2 as torch.save writes, or 4."""

    data: bytes

    def number(self, name: str, after: str = "") -> int | None:
        """The whole number, or the truth as 0 or 1, that follows a name behind the first place of another."""
        if (found := self._value(name, after)) is None:
            return None
        byte, two, four, true, false, *_ = found.groups()
        if true or false:
            return int(bool(true))
        digits = byte or two or four
        return int.from_bytes(digits, "little", signed=digits is four) if digits else None

    def text(self, name: str) -> str | None:
        """The short text that follows a name."""
        found = self._value(name)
        if found is None or not (found[6] or found[7]):
            return None
        length = int.from_bytes(found[6] or found[7], "little")
        text = self.data[found.end() : found.end() + min(length, _LONGEST)]
        return text.decode(errors="replace")

    def numbers(self, pattern: re.Pattern[bytes]) -> list[int]:
        """The numbers of all names of a pattern."""
        return sorted({int(each) for each in pattern.findall(self.data)})

    def _value(self, name: str, after: str = "") -> re.Match[bytes] | None:
        word = name.encode()
        start = max(self.data.find(after.encode()), 0)
        for head in (b"X" + len(word).to_bytes(4, "little"), b"\x8c" + bytes([len(word)])):
            at = self.data.find(head + word, start)
            while at >= 0:
                if found := _VALUE.match(self.data, at + len(head + word)):
                    return found
                at = self.data.find(head + word, at + 1)
        return None


@dataclass(frozen=True)
class Step:
    """The folder of one step's checkpoint."""

    path: str

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in the folder. Raises `OverLimit` for too many, `OSError` where it cannot be read."""
        with os.scandir(self.path) as entries:
            found = tuple(entry.name for entry in islice(entries, MOST_NAMES + 1))
        if len(found) > MOST_NAMES:
            raise OverLimit(f"it has more than {MOST_NAMES:,} names")
        return found

    def ranks(self, pattern: re.Pattern[str]) -> list[int]:
        """The numbers in the names of its files, where a pattern is one's whole."""
        return [int(found[1]) for name in self.names if (found := pattern.fullmatch(name))]

    def head(self, name: str) -> Pickled:
        """The beginning of a file; empty where there is none."""
        return Pickled(_first(os.path.join(self.path, name), MOST_HEAD))

    def text(self, name: str) -> str:
        """A short text; empty where there is none."""
        return _first(os.path.join(self.path, name), MOST_TEXT).decode(errors="replace").strip()


@dataclass(frozen=True)
class SavedStep:
    """The run that saved a checkpoint: the framework and its release, the step, how many `ranks` have files,
    and layout, form and sizes of the model as far as its files hold them."""

    framework: str
    step: int
    ranks: int
    layout: dict[str, int]
    form: dict[str, str]
    sizes: dict[str, int]
    release: str = ""


@dataclass(frozen=True)
class Checkpoints:
    """`newest` gives the name of the newest step's folder in a folder of checkpoints, `written` what a step
    tells; None where it is not the framework's."""

    newest: Callable[[Step], str | None]
    written: Callable[[Step], SavedStep | None]


def child(name: str) -> str | None:
    """A name that a file of a checkpoint gives, unless it leads elsewhere."""
    return name if re.fullmatch(r"[\w-][\w.-]{0,99}", name) else None


def _first(path: str, count: int) -> bytes:
    try:
        return first_bytes(path, count)
    except (OSError, NotReadable):
        return b""

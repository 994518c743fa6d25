"""What a running script would know: variables, functions, files it wrote, arguments. Copied where paths part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..backend import Unknown, Unread
from .values import Piece, Text, Word, lenient, plain, size, unknown_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from .source import Source

#: What one reading may take: statements, words of them, and what variables are given (`values.size`).
MOST_STEPS = 30_000
MOST_WORDS = 400_000
MOST_STORED = 1_500_000
MOST_LAUNCHES = 40
#: Pieces of one value: a longer one is unknown.
MOST_PIECES = 20_000
#: Scripts that start scripts, functions and strings that are parsed again.
DEEPEST = 24


class Variable(NamedTuple):
    """`elements` is None for a plain variable; an array has them by index or key."""

    value: Text
    elements: Mapping[str, Text] | None = None
    exported: bool = False


class OutOfSteps(Exception):
    """The script takes longer than a reader may."""


@dataclass
class Budget:
    steps: int = MOST_STEPS
    words: int = MOST_WORDS
    stored: int = MOST_STORED

    def spend(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfSteps

    def spend_words(self, count: int = 1) -> None:
        self.words -= count
        if self.words < 0:
            raise OutOfSteps

    def store(self, text: Text) -> None:
        self.stored -= size(text)
        if self.stored < 0:
            raise OutOfSteps

    def store_elements(self, count: int) -> None:
        self.stored -= 3 * count
        if self.stored < 0:
            raise OutOfSteps


@dataclass(frozen=True)
class Launch:
    """A command that starts processes: its words, what started it, and what it finds.

    `wrappers` are the words before it (srun and its options), outermost first; `directives` the options of
    sbatch and of srun; `environment` is what is exported, `variables` all that is set; `scripts` are the files
    that led here.
    """

    words: tuple[Word, ...]
    wrappers: tuple[tuple[Word, ...], ...]
    environment: Mapping[str, Text]
    variables: Mapping[str, Variable]
    directives: tuple[Directive, ...]
    files: Mapping[FileKey, Text]
    scripts: tuple[str, ...]
    cwd: str


class Directive(NamedTuple):
    """One option of sbatch, by its long name, from a #SBATCH line or the command; `value` is None for a switch."""

    name: str
    value: Text | None
    word: Word
    written: str


FileKey = tuple[str | Unknown, ...]
#: Path as a script names it, and the folder that it is in -> path and text of the file, if there is one.
Finder = Callable[[Text, "Shell"], "tuple[str, str] | None"]


@dataclass
class World:
    """What all parts of one reading share."""

    find: Finder
    budget: Budget = field(default_factory=Budget)
    launches: list[Launch] = field(default_factory=list)
    unread: dict[Unread, None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    #: Whether the script was too much to be followed to its end.
    cut: bool = False

    def note(self, reason: str, place: tuple[str, int, int]) -> None:
        if len(self.unread) < 1000:
            self.unread[Unread(reason, *place)] = None


@dataclass
class Shell:
    world: World
    path: str
    #: What `$0` is; `path` is the file that is read, which `source` changes.
    name: Text = ()
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, tuple[Source, Node]] = field(default_factory=dict)
    files: dict[FileKey, Text] = field(default_factory=dict)
    positional: tuple[Text, ...] = ()
    cwd: str = ""
    #: Why a variable that nothing sets may still be set: a file that could not be read.
    outside: Unknown | None = None
    directives: tuple[Directive, ...] = ()
    wrappers: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str, ...] = ()
    #: Files that are being sourced, outermost first.
    sourcing: tuple[str, ...] = ()
    #: Where output goes that something reads; None when nothing does.
    output: list[Piece] | None = None
    stdin: Text | None = None
    #: Names of the function's own variables, with what they hid.
    hidden: list[dict[str, Variable | None]] = field(default_factory=list)
    depth: int = 0
    #: States in which an undecided `break` or `return` leaves.
    leaving: list[list[Shell]] = field(default_factory=list)

    def fork(self) -> Shell:
        """A copy whose changes stay in it; what all share is shared."""
        other = copy(self)
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.files = dict(self.files)
        other.hidden = [dict(names) for names in self.hidden]
        other.output = None if self.output is None else list(self.output)
        return other

    def take(self, other: Shell) -> None:
        """Go on in the state of a copy."""
        self.variables, self.functions = other.variables, other.functions
        self.files, self.positional, self.cwd = other.files, other.positional, other.cwd
        self.outside, self.hidden = other.outside, other.hidden
        if self.output is not None and other.output is not None:
            self.output[:] = other.output

    def set(self, name: str, value: Text, exported: bool | None = None) -> None:
        self.world.budget.store(value)
        if len(value) > MOST_PIECES:
            value = (value[0]._replace(text=Unknown(f"`{name}` is too long"), split=False),)
        old = self.variables.get(name)
        flag = (old is not None and old.exported) if exported is None else exported
        if old is not None and old.elements is not None:
            self.variables[name] = old._replace(elements={**old.elements, "0": value})
        else:
            self.variables[name] = Variable(value, None, flag)

    def set_elements(self, name: str, elements: Mapping[str, Text]) -> None:
        self.world.budget.store_elements(len(elements))
        old = self.variables.get(name)
        self.variables[name] = Variable((), elements, old is not None and old.exported)

    def get(self, name: str) -> Text | None:
        """The value of a plain variable, or of an array's first element; None where nothing sets it."""
        found = self.variables.get(name)
        if found is None:
            return None
        return found.value if found.elements is None else found.elements.get("0")

    def missing(self, name: str) -> Unknown:
        """What a variable is that nothing sets."""
        if name.startswith("SLURM") and self.directives:
            return Unknown(f"`{name}` is set by SLURM when the job runs", nonempty=True)
        if name in ALWAYS_SET:
            return Unknown(f"`{name}` depends on the machine", nonempty=True)
        if self.outside is not None and name not in NEVER_SOURCED:
            return Unknown(f"`{name}` is not set here; {self.outside.reason}")
        return Unknown(f"nothing sets `{name}`", unset=name)

    def exported(self) -> dict[str, Variable]:
        return {name: value for name, value in self.variables.items() if value.exported}


ALWAYS_SET = frozenset({"HOME", "USER", "HOSTNAME", "PATH", "SHELL", "RANDOM", "UID", "SECONDS"})
NEVER_SOURCED = frozenset({"@", "*"})


def text_key(text: Text) -> FileKey:
    """A path by which a file that the script wrote is found again, whatever is unknown in it."""
    value = plain(text)
    if isinstance(value, str):
        parts = [part for part in value.split("/") if part not in (".", "")]
        return ("/" if value.startswith("/") else "", *parts)
    return tuple(piece.text for piece in text)


def merged(shells: Sequence[Shell], reason: str) -> Shell:
    """One state for paths that meet again: what differs between them is unknown."""
    first, *others = shells
    for other in others:
        names = first.variables.keys() | other.variables.keys()
        for name in names:
            one, two = first.variables.get(name), other.variables.get(name)
            if one is not two and one != two:
                first.variables[name] = _merged_variable(one, two, f"`{name}`: {reason}")
        for key in other.files.keys() - first.files.keys():
            first.files[key] = other.files[key]
        for key, text in other.files.items():
            if first.files[key] != text:
                first.files[key] = merged_text(first.files[key], text, reason)
        first.functions.update(other.functions)
        first.outside = first.outside or other.outside
        if first.positional != other.positional:
            first.positional = ()
            first.outside = Unknown(reason)
        if first.cwd != other.cwd:
            first.cwd = ""
    return first


def _merged_variable(one: Variable | None, two: Variable | None, reason: str) -> Variable:
    filled = one or two
    assert filled is not None
    one, two = one or Variable(()), two or Variable(())
    exported = one.exported or two.exported
    if filled.elements is None and one.elements is None and two.elements is None:
        return Variable(merged_text(one.value, two.value, reason), None, exported)
    parts = [tuple((variable.elements or {}).values()) for variable in (one, two)]
    return Variable((), _merged_elements(parts[0], parts[1], reason), exported)


def merged_text(one: Text, two: Text, reason: str) -> Text:
    """What both begin with, something unknown, what both end with; or the one text that both are."""
    texts = [lenient(text) for text in (one, two)]
    if texts[0] == texts[1] and isinstance(texts[0], str) and unknown_of(one) is None:
        return one
    start = _common(one, two)
    end = _common(one[start:][::-1], two[start:][::-1])
    middles = [text[start : len(text) - end] for text in (one, two)]
    options = [option for middle in middles for option in _alternatives(middle)]
    known = tuple(dict.fromkeys(options)) if None not in options else ()
    place = next(middle[0] for middle in [*middles, one, two, (Piece("", "", 1, 1),)] if middle)
    unknown = Unknown(reason, tuple(text for text in known if text is not None)[:16])
    before = one[:start]
    if before and isinstance(before[-1].text, Unknown) and before[-1].split == place.split:
        before, unknown = before[:-1], Unknown(before[-1].text.reason)
    return (*before, place._replace(text=unknown), *one[len(one) - end :])


def _alternatives(text: Text) -> Iterable[str | None]:
    if len(text) == 1 and isinstance(text[0].text, Unknown) and text[0].text.alternatives:
        return text[0].text.alternatives
    value = lenient(text)
    return (value,) if isinstance(value, str) else (None,)


def _common(one: Sequence[object], two: Sequence[object]) -> int:
    count = 0
    for left, right in zip(one, two, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


def _merged_elements(
    one: tuple[Text, ...], two: tuple[Text, ...], reason: str
) -> dict[str, Text]:
    start = _common(one, two)
    end = _common(one[start:][::-1], two[start:][::-1])
    middles = [elements[start : len(elements) - end] for elements in (one, two)]
    options: list[str | None] = []
    for middle in middles:
        texts = [plain(text) if text else "" for text in middle]
        options.append(" ".join(map(str, texts)) if all(isinstance(t, str) for t in texts) else None)
    known = tuple(option for option in options if option is not None)
    place = next((middle[0][0] for middle in middles if middle and middle[0]), Piece("", "", 1, 1))
    unknown = Unknown(reason, known if len(known) == len(options) else ())
    elements = [*one[:start], (place._replace(text=unknown, split=True),), *one[len(one) - end :]]
    return {str(index): text for index, text in enumerate(elements)}

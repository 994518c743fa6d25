"""The state of a script: variables, functions, written files, arguments. It is copied at every branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..facts import Stop, Unknown, Unread
from ..sbatch_options import BatchOption, asks_for_gpus
from .values import Piece, Text, Word, size

if TYPE_CHECKING:
    from tree_sitter import Node

    from .source import PlacedText
    from .trace import Assignment, Expansion, TracedCommand

#: Budget of one reading: statements, expanded words, and the cost of stored values (`values.size`).
MOST_STEPS = 30_000
MOST_WORDS = 200_000
MOST_STORED = 1_500_000
MOST_LAUNCHES = 40
MOST_TRAPS = 40
#: Most pieces of one value; a longer one is unknown.
MOST_PIECES = 20_000
#: Folders of the machine as the beginning of `Shell.cwd`: one that nobody knows, and somebody's home.
AWAY, HOME = "?", "~"
#: Deepest nesting of scripts, functions and texts that are parsed again.
DEEPEST = 24


class Variable(NamedTuple):
    """`elements` is None for a plain variable; an array has them by index or key."""

    value: Text
    elements: Mapping[str, Text] | None = None
    exported: bool = False


class OutOfSteps(Exception):
    """The script exceeds the budget of a reading."""


class OutOfLaunches(OutOfSteps):
    """The script starts more jobs than are read."""


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
class LaunchedCommand:
    """A command that starts processes: its words, what started it, and what it finds.

    `wrappers` are the words before it (srun and its options), outermost first; `directives` the options of
    sbatch and of srun; `environment` is what is exported, `variables` all that is set; `scripts` are the
    files that led here.
    """

    words: tuple[Word, ...]
    wrappers: tuple[tuple[Word, ...], ...]
    environment: Mapping[str, Text]
    variables: Mapping[str, Variable]
    directives: tuple[BatchOption, ...]
    files: Mapping[FileKey, Text]
    scripts: tuple[str, ...]
    cwd: str


FileKey = tuple[str | Unknown, ...]
#: Runs a statement of one kind.
Handler = Callable[["Shell", "PlacedText", "Node"], "bool | None"]
#: Path as a script names it, and the folder that it is in -> path and text of the file, if there is one.
Finder = Callable[[Text, "Shell"], "tuple[str, str] | None"]


class Expander(Protocol):
    """The characters of a word from `start` to `end` -> what they expand to; `quoted` as between `"`."""

    def __call__(
        self, shell: Shell, source: PlacedText, start: int, end: int, quoted: bool = False
    ) -> list[Piece]: ...


@dataclass
class World:
    """State that all parts of one reading share. `handlers` run statements, `expand` expands words: through
    them a word can hold a command, and an expansion a word."""

    find: Finder
    handlers: Mapping[str, Handler]
    expand: Expander
    budget: Budget = field(default_factory=Budget)
    launches: list[LaunchedCommand] = field(default_factory=list)
    trace: dict[TracedCommand, None] = field(default_factory=dict)
    assignments: dict[Assignment, None] = field(default_factory=dict)
    #: What was expanded so far, and how much of it before the words of the command at hand.
    reads: list[Expansion] = field(default_factory=list)
    read_before: int = 0
    #: Words behind each `trap`, with its shell, which has all functions when a signal comes.
    traps: list[tuple[Shell, list[Word]]] = field(default_factory=list)
    aside: Budget = field(default_factory=lambda: Budget(1_000, 10_000, 100_000))
    unread: dict[Unread, None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    #: Tests that hold and end the script.
    stops: dict[Stop, None] = field(default_factory=dict)
    #: Whether the reading stopped before the end of the script.
    cut: bool = False
    #: Whether tests of unset variables are undecided, because the environment may set them.
    given_from_outside: bool = False

    def launch(self, found: LaunchedCommand) -> None:
        """Keeps a launched command; one that a loop or another branch launches again counts once. Raises
        OutOfLaunches beyond `MOST_LAUNCHES`."""
        known = self.launches
        if all(item.words != found.words or item.directives != found.directives for item in known):
            if len(known) == MOST_LAUNCHES:
                raise OutOfLaunches
            known.append(found)

    def note(
        self,
        reason: str,
        place: tuple[str, int, int],
        missing: bool = False,
        sourced: bool = False,
        over_limit: bool = False,
        rest: bool = False,
        itself: str = "",
    ) -> None:
        if len(self.unread) < 1000:
            noted = Unread(reason, *place, missing, sourced, over_limit, rest, itself=itself)
            self.unread[noted] = None


@dataclass
class Shell:
    world: World
    path: str
    #: What `$0` is; `path` is the file that is read, which `source` changes.
    name: Text = ()
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, tuple[PlacedText, Node]] = field(default_factory=dict)
    files: dict[FileKey, Text] = field(default_factory=dict)
    positional: tuple[Text, ...] = ()
    cwd: str = ""
    #: Folders that `popd` goes back to, the next one last.
    pushed: tuple[str, ...] = ()
    #: Why a variable that nothing sets may still be set: a file that could not be read.
    outside: Unknown | None = None
    directives: tuple[BatchOption, ...] = ()
    wrappers: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[str, ...] = ()
    #: Files that are being sourced, outermost first.
    sourcing: tuple[str, ...] = ()
    #: Output that a substitution, a pipe or a file captures; None where nothing captures it.
    output: list[Piece] | None = None
    stdin: Text | None = None
    #: Files that redirections have open for the statement that runs.
    opens: tuple[Word, ...] = ()
    #: Local variables of each active function, with the values that they hide.
    hidden: list[dict[str, Variable | None]] = field(default_factory=list)
    depth: int = 0
    #: Whether the shell above goes on meanwhile, and the signals whose trap runs.
    background: bool = False
    #: Whether a test that nothing decides leads here.
    undecided: bool = False
    signals: tuple[str, ...] = ()
    #: States at each undecided `break` or `return` of the enclosing loops and functions.
    leaving: list[list[Shell]] = field(default_factory=list)

    def fork(self) -> Shell:
        """A copy that can change by itself; `world` stays shared."""
        other = copy(self)
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.files = dict(self.files)
        other.hidden = [dict(names) for names in self.hidden]
        other.output = None if self.output is None else list(self.output)
        return other

    def apart(self, signals: tuple[str, ...]) -> Shell:
        """A copy whose commands come into the trace, and of which nothing is a fact or launches a job: what
        runs on a signal, or where a command fails (`ERR`). All of them have one small budget."""
        inner, world = self.fork(), self.world
        inner.signals, inner.output = signals, None
        nothing = World(world.find, world.handlers, world.expand, world.aside, aside=world.aside)
        inner.world = replace(nothing, trace=world.trace, reads=world.reads)
        return inner

    def take(self, other: Shell) -> None:
        """Take over the state of a copy."""
        self.variables, self.functions = other.variables, other.functions
        self.files, self.positional, self.cwd = other.files, other.positional, other.cwd
        self.outside, self.hidden, self.pushed = other.outside, other.hidden, other.pushed
        if self.output is not None and other.output is not None:
            self.output[:] = other.output

    def set(self, name: str, value: Text, exported: bool | None = None) -> None:
        value = tuple(piece for piece in value if piece.text != "") or value[:1]
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

    @property
    def awaits_arguments(self) -> bool:
        """Whether the arguments of the script are its caller's, who is not known."""
        return self.world.given_from_outside and not self.positional and not self.hidden

    def missing(self, name: str) -> Unknown:
        """The unknown value of a variable that the script does not set."""
        if name.startswith("SLURM") and self.directives:
            return Unknown(f"`{name}` is set by SLURM when the job runs", nonempty=True)
        if name in _VISIBLE and asks_for_gpus(self.directives):
            return Unknown(f"`{name}` is set by SLURM, to the GPUs of the job", nonempty=True)
        if name in ALWAYS_SET:
            return Unknown(f"`{name}` depends on the machine", nonempty=True)
        if self.outside is not None and name not in NEVER_SOURCED:
            return Unknown(f"`{name}` is not set here; {self.outside.reason}")
        return Unknown(f"nothing sets `{name}`", unset=name)

    def exported(self) -> dict[str, Variable]:
        return {name: value for name, value in self.variables.items() if value.exported}


_VISIBLE = frozenset({"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"})
ALWAYS_SET = frozenset({"HOME", "USER", "HOSTNAME", "PATH", "SHELL", "RANDOM", "UID", "SECONDS"})
NEVER_SOURCED = frozenset({"@", "*"})


def text_key(text: Text) -> FileKey:
    """The key of a file that the script wrote: a path with its unknown pieces."""
    key: list[str | Unknown] = [""]
    for piece in text:
        last = key[-1]
        if isinstance(piece.text, str) and isinstance(last, str):
            key[-1] = last + piece.text
        elif not (isinstance(piece.text, Unknown) and piece.text.unset):
            key.append(piece.text)
    return tuple(part if isinstance(part, Unknown) else _normal(part) for part in key)


def _normal(path: str) -> str:
    """The path without `.` and empty parts."""
    parts = [part for part in path.split("/") if part not in (".", "")]
    ends = ("/" if path.startswith("/") else "", "/" if path.endswith("/") and parts else "")
    return ends[0] + "/".join(parts) + ends[1]

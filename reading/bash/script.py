"""A script's text -> the commands that it launches. The entry of this package."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .. import sbatch_options
from ..facts import Stop, Unknown, Unread
from ..sbatch_options import BatchOption
from .commands.launching import enter_job, launch
from .shell import (
    AWAY,
    HOME,
    MOST_LAUNCHES,
    Finder,
    LaunchedCommand,
    OutOfLaunches,
    OutOfSteps,
    Shell,
    Variable,
    World,
)
from .source import file_source, text_source
from .statements.handlers import HANDLERS
from .statements.run_statement import run_text
from .trace import Assignment, Expansion, TracedCommand, signal_name
from .values import Piece, Text, Word, plain, word
from .words.word_expansion import pieces

#: Larger scripts are not read; real ones have less than a hundredth of it.
LONGEST_CHARACTERS = 2_000_000
#: How many folders above a script are tried as the one in which it is started.
MOST_FOLDERS = 6
_GROOVY = re.compile(r"#![^\n]*\bgroovy\b")
#: Gives the text of a file by its path, as `source x.sh` names it; None where there is none to be read.
Folder = Callable[[str], str | None]


@runtime_checkable
class InCheckout(Protocol):
    """A `Folder` that knows the name of the checkout which it reads."""

    def in_checkout(self, name: str) -> Iterator[str]:
        """The paths that a name may mean which leads through the checkout's own folder."""


@dataclass(frozen=True)
class Script:
    """The commands that a script launches, its variables at the end, parts not followed, and files read."""

    launches: tuple[LaunchedCommand, ...]
    variables: Mapping[str, Variable]
    unread: tuple[Unread, ...]
    read: Mapping[str, str]
    directives: tuple[BatchOption, ...]
    #: Whether the reading stopped before the end of the script.
    cut: bool = False
    #: Tests that hold, and end the script before what it starts.
    stops: tuple[Stop, ...] = ()
    #: Its commands, in the order in which they run.
    trace: tuple[TracedCommand, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    #: The variables that its shells expand.
    reads: tuple[Expansion, ...] = ()


def no_folder(path: str) -> str | None:
    return None


def read_script(
    path: str,
    text: str,
    *,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    texts: Mapping[str, str] | None = None,
    folder: Folder = no_folder,
) -> Script:
    """Follow a script from its first line to its last; `texts` are files given with it, by path."""
    if reason := unreadable(path, text):
        return Script((), {}, (reason,), {}, ())
    text = unix_lines(text)
    given: dict[str, str | Unknown] = dict(environment or {})
    find = _finder(texts or {}, folder)
    script = _followed(path, text, given, arguments, World(find, HANDLERS, pieces))
    if not script.launches and not script.cut and re.search(r"\bexit\b", text):
        outside = {name: Unknown(f"`{name}` is given from outside") for name in OUTSIDE}
        world = World(find, HANDLERS, pieces, given_from_outside=True)
        again = _followed(path, text, {**outside, **given}, arguments, world)
        return again if again.launches else script
    return script


def read_command(
    path: str,
    words: Sequence[Word],
    variables: Mapping[str, Text],
    *,
    outside: Unknown | None = None,
    texts: Mapping[str, str] | None = None,
    folder: Folder = no_folder,
) -> Script:
    """Follow one command that something other than a script starts, in the environment of `variables`;
    `outside` says why others may be set, too."""
    world = World(_finder(texts or {}, folder), HANDLERS, pieces)
    shell = Shell(world, path, (Piece(path, path, 1, 1),), scripts=(path,))
    shell.outside = outside
    for name, value in variables.items():
        shell.variables[name] = Variable(value, None, True)
    _guarded(shell, path, lambda: launch(shell, file_source(path, ""), words))
    return _script(shell)


#: Variables by which a scheduler passes the number of nodes. A script that launches nothing by itself is read
#: once more with these, its arguments and its unset variables unknown.
OUTSIDE = ("NNODES", "NUM_NODES", "WORLD_SIZE")


def _followed(
    path: str,
    text: str,
    environment: Mapping[str, str | Unknown],
    arguments: Sequence[str],
    world: World,
) -> Script:
    shell = Shell(world, path, (Piece(path, path, 1, 1),), scripts=(path,))
    shell.positional = tuple(word(value, "(arguments)").pieces for value in arguments)
    enter_job(shell, list(sbatch_options.header(file_source(path, text))))
    for name, value in environment.items():
        shell.variables[name] = Variable(word(value, "(environment)").pieces, None, True)
    _guarded(shell, path, lambda: run_text(shell, file_source(path, text)))
    _traps(world)
    return _script(shell)


def _traps(world: World) -> None:
    """Add what the traps of a script run to its trace."""
    try:
        for shell, (action, *signals) in world.traps:
            inner = shell.apart(tuple(signal_name(str(word.text)) for word in signals))
            inner.background = False
            run_text(inner, text_source(action.pieces, shell.path))
    except (OutOfSteps, RecursionError):
        return


def _script(shell: Shell) -> Script:
    world = shell.world
    return Script(
        tuple(world.launches),
        shell.variables,
        tuple(world.unread),
        world.read,
        shell.directives,
        world.cut,
        tuple(world.stops),
        tuple(world.trace),
        tuple(world.assignments),
        tuple(dict.fromkeys(world.reads)),
    )


def is_pipeline(path: str, text: str) -> bool:
    """Whether Jenkins reads a file, in Groovy, and hands single strings of it to shells."""
    return posixpath.basename(path).startswith("Jenkinsfile") or bool(_GROOVY.match(text))


def unreadable(path: str, text: str) -> Unread | None:
    """Why a text is not parsed at all, None where it is."""
    if is_pipeline(path, text):
        return Unread("it is a pipeline of Jenkins, and no shell script", path, 1)
    if len(text) > LONGEST_CHARACTERS:
        reason = f"it has {len(text):,} characters, and no launch file has {LONGEST_CHARACTERS:,}"
        return Unread(reason, path, 1, over_limit=True)
    return Unread("it is binary", path, 1) if "\0" in text else None


def _guarded(shell: Shell, path: str, run: Callable[[], object]) -> None:
    try:
        run()
    except OutOfLaunches:
        shell.world.cut = True
        reason = f"only the first {MOST_LAUNCHES} jobs that it starts are judged"
        shell.world.note(reason, (path, 1, 1), over_limit=True, rest=True)
    except OutOfSteps:
        shell.world.cut = True
        reason = "it takes more steps than a reader goes along"
        shell.world.note(reason, (path, 1, 1), over_limit=True)
    except RecursionError:
        shell.world.cut = True
        shell.world.note("it is nested too deep", (path, 1, 1), over_limit=True)


def _finder(texts: Mapping[str, str], folder: Folder) -> Finder:
    def find(text: Text, shell: Shell) -> tuple[str, str] | None:
        return locate(text, shell.path, shell.cwd, texts, folder)

    return find


def locate(
    text: Text, script: str, cwd: str, texts: Mapping[str, str], folder: Folder
) -> tuple[str, str] | None:
    """The path and text of the file that a script names, or None where it is not found."""
    name = plain(text) if text else ""
    if isinstance(name, Unknown):
        tail = Word(text).tail
        return _by_tail(texts, tail) or _first(_through(tail, folder), texts, folder)
    if not name or len(name) > 1000 or "\n" in name:
        return None
    away = _away(name, cwd)
    return (
        (_first(_through(away, folder), texts, folder) if away else None)
        or _first(_candidates(name, script, cwd), texts, folder)
        or _by_tail(texts, name if name.startswith("/") else "")
        or _first(_through(name, folder), texts, folder)
    )


def _away(name: str, cwd: str) -> str:
    """A path outside of the folders at hand, as far as it is known: `repo/train.py` of `train.py` behind
    `cd $ROOT/repo`, and `/repo/train.py` behind `cd ~/repo`; empty for other paths."""
    if name.startswith((HOME, "/")):
        return name.lstrip(HOME) if name.startswith(HOME) else ""
    if not cwd.startswith(("/", f"{AWAY}/", f"{HOME}/")):
        return ""
    folder = cwd.removeprefix(f"{AWAY}/").removeprefix(HOME)
    path = posixpath.normpath(posixpath.join(folder, name))
    return "" if path.startswith("..") else path


def _first(
    candidates: Iterable[str], texts: Mapping[str, str], folder: Folder
) -> tuple[str, str] | None:
    """The first of some paths that has a text, and the text."""
    for candidate in candidates:
        found = texts.get(candidate)
        found = folder(candidate) if found is None else found
        if found is not None and "\0" not in found and len(found) <= LONGEST_CHARACTERS:
            return candidate, unix_lines(found)
    return None


def _through(name: str, folder: Folder) -> Iterable[str]:
    return folder.in_checkout(name) if isinstance(folder, InCheckout) else ()


def unix_lines(text: str) -> str:
    """A script with Windows' line ends as it was meant. Where most lines end as bash wants, a carriage return
    is a character, as in a quoted value."""
    return text.replace("\r\n", "\n") if 2 * text.count("\r\n") > text.count("\n") else text


def _by_tail(texts: Mapping[str, str], tail: str) -> tuple[str, str] | None:
    """The one given file whose path ends with `tail`, for a path whose folder is unknown."""
    if "/" not in tail or tail.endswith("/"):
        return None
    tail = tail if tail.startswith("/") else tail[tail.index("/") :]
    found = [path for path in texts if f"/{path}".endswith(tail)]
    return (found[0], unix_lines(texts[found[0]])) if len(found) == 1 else None


def _candidates(name: str, script: str, cwd: str) -> Iterator[str]:
    """The paths that a name may mean: in the script's folder, after its `cd`, or where it was started."""
    if name.startswith("/"):
        yield name
        return
    here = posixpath.dirname(script)
    seen = set()
    folders = [posixpath.join(here, cwd) if not cwd.startswith((AWAY, HOME)) else here, here]
    for _ in range(MOST_FOLDERS):
        folders.append(here)
        here = posixpath.dirname(here)
    for one in [*folders, ""]:
        path = posixpath.normpath(posixpath.join(one, name))
        if path not in seen and not path.startswith(".."):
            seen.add(path)
            yield path

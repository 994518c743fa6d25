"""#SBATCH lines and options of sbatch and srun -> long names, values, and the variables that SLURM sets.

Which letters there are and which options take a value is what sbatch and srun of SLURM 22.05.8 answer; how
a line is cut into words is what `sbatch -v` prints of it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from .bash.source import PlacedText
from .bash.values import Piece, Text, Word, plain, whole
from .facts import Unknown
from .placeholders import TEMPLATE, filled
from .sbatch_names import long_name


class BatchOption(NamedTuple):
    """An option of sbatch or srun by its long name, as a line or a command has it; a switch has no value."""

    name: str
    value: Text | None
    word: Word
    written: str


class Syntax(NamedTuple):
    """Long option names by letter, and the options that do not take the next word as their value."""

    letters: Mapping[str, str]
    alone: frozenset[str]


_LETTERS = {
    "A": "account", "B": "extra-node-info", "C": "constraint", "D": "chdir", "F": "nodefile", "G": "gpus",
    "H": "hold", "J": "job-name", "L": "licenses", "M": "clusters", "N": "nodes", "O": "overcommit",
    "Q": "quiet", "S": "core-spec", "W": "wait", "b": "begin", "c": "cpus-per-task", "d": "dependency",
    "e": "error", "i": "input", "k": "no-kill", "m": "distribution", "n": "ntasks", "o": "output",
    "p": "partition", "q": "qos", "s": "oversubscribe", "t": "time", "v": "verbose", "w": "nodelist",
    "x": "exclude",
}  # fmt: skip
_STEP_LETTERS = {
    "E": "preserve-env", "I": "immediate", "K": "kill-on-bad-exit", "T": "threads", "X": "disable-status",
    "Z": "no-allocate", "l": "label", "r": "relative", "u": "unbuffered",
}  # fmt: skip
#: Options of both programs without a value in the next word; those of the plugin pyxis come last.
_ALONE = """contiguous exclusive hold nice no-kill overcommit oversubscribe propagate quiet reboot spread-job
    test-only use-min-nodes verbose
    container-remap-root no-container-remap-root container-mount-home no-container-mount-home
    container-writable container-readonly no-container-entrypoint"""
_BATCH_ALONE = "get-user-env ignore-pbs no-requeue parsable requeue wait"
_STEP_ALONE = """bcast compress disable-status exact immediate kill-on-bad-exit label multi-prog no-allocate
    overlap preserve-env pty quit-on-interrupt resv-ports send-libs unbuffered x11"""
SBATCH = Syntax({"a": "array", **_LETTERS}, frozenset(f"{_ALONE} {_BATCH_ALONE}".split()))
SRUN = Syntax({**_LETTERS, **_STEP_LETTERS}, frozenset(f"{_ALONE} {_STEP_ALONE}".split()))
_MAGIC = "#SBATCH"
#: A word with its quotes; an unquoted `#` ends the line, and a quote without its pair is a character.
_WORD = re.compile(
    rf"(?:{TEMPLATE}|"
    r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\#[A-Z][A-Z0-9_]*\#|[^\s#"'\\]|["'\\])+|\#"""
)
#: Characters that quoting may take away: quotes, and the backslash of an escaped character.
_MARKS = re.compile(r"""\\(.)|["']""")


def header(source: PlacedText) -> Iterator[BatchOption]:
    """The directives above the first command; sbatch ignores those below it."""
    for words in header_words(source):
        unfilled = list(takewhile(lambda word: isinstance(word.text, Unknown), words))
        yield from options(words[len(unfilled) :])[0]


def header_words(source: PlacedText) -> Iterator[list[Word]]:
    """The words of each #SBATCH line above the first command."""
    start = 0
    for line in source.text.splitlines(keepends=True):
        if is_command(line):
            return
        if line.startswith(_MAGIC):
            yield filled(list(_words(source, start, line)))
        start += len(line)


def is_command(line: str) -> bool:
    """Whether a line ends the header: it is neither blank nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _words(source: PlacedText, start: int, line: str) -> Iterator[Word]:
    for found in _WORD.finditer(line.rstrip("\r\n"), len(_MAGIC)):
        if found[0] == "#":
            return
        pieces = source.pieces(start + found.start(), start + found.end())
        yield Word(tuple(_unquoted(pieces)))


def _unquoted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces of a word without what quotes them; a quote inside the other kind of quotes stays."""
    open_quote = ""

    def kept(found: re.Match[str]) -> str:
        nonlocal open_quote
        if found[1] is not None:
            return found[1]
        if open_quote and found[0] != open_quote:
            return found[0]
        open_quote = "" if open_quote else found[0]
        return ""

    for piece in pieces:
        unknown = isinstance(piece.text, Unknown)
        yield piece if unknown else piece._replace(text=_MARKS.sub(kept, str(piece.text)))


def options(words: Sequence[Word], syntax: Syntax = SBATCH) -> tuple[list[BatchOption], list[Word]]:
    """The leading options of a list of words, and the words that follow them."""
    found: list[BatchOption] = []
    index = 0
    while index < len(words):
        word = words[index]
        lead = word.lead
        if not lead.startswith("-") or lead in ("-", "--"):
            break
        name, sign, _ = lead.partition("=")
        index += 1
        if lead.startswith("--"):
            written, long = name, long_name(name[2:])
            value = word.cut(len(name) + 1).pieces if sign else None
        else:
            written, long = lead[:2], syntax.letters.get(lead[1:2], lead[1:2])
            value = word.cut(2 + lead[2:].startswith("=")).pieces if len(lead) > 2 else None
        takes_next = value is None and long not in syntax.alone and index < len(words)
        if takes_next and not words[index].lead.startswith("-"):
            value = words[index].pieces
            index += 1
        found.append(BatchOption(long, value, word, written))
    return found, list(words[index:])


def last(directives: Iterable[BatchOption], *names: str) -> BatchOption | None:
    """The last directive of these names, which sbatch obeys; the command's follow the header's."""
    found = [directive for directive in directives if directive.name in names]
    return found[-1] if found else None


def count(directives: Sequence[BatchOption], name: str) -> int | Unknown | None:
    """The number that a directive states, None where there is no such directive."""
    directive = last(directives, name)
    if directive is None:
        return None
    text = plain(directive.value) if directive.value else ""
    if isinstance(text, Unknown):
        return text
    text = text.split(":")[-1] if name.startswith("gpus") else text
    number = whole(text)
    return (
        Unknown(f"`{directive.written} {text[:40]}` is not one number")
        if number is None
        else number
    )


def gpus_per_node(directives: Sequence[BatchOption]) -> tuple[int | Unknown, BatchOption] | None:
    """GPUs of a node, from --gpus-per-node, --gres, or GPUs of a task times its tasks."""
    direct = last(directives, "gpus-per-node")
    if direct is not None:
        return count(directives, "gpus-per-node") or 0, direct
    for directive in reversed([item for item in directives if item.name == "gres"]):
        text = plain(directive.value) if directive.value else ""
        if isinstance(text, Unknown):
            return text, directive
        for part in text.split(","):
            kind, *rest = part.replace("=", ":").split(":")
            if kind == "gpu":
                number = rest[-1].partition("(")[0] if rest else "1"
                return _of_kind(number), directive
    per_task, tasks = count(directives, "gpus-per-task"), count(directives, "ntasks-per-node")
    if isinstance(per_task, int) and isinstance(tasks, int):
        found = last(directives, "gpus-per-task")
        return (per_task * tasks, found) if found else None
    total, nodes = count(directives, "gpus"), count(directives, "nodes")
    found = last(directives, "gpus")
    if isinstance(total, int) and isinstance(nodes, int) and nodes and found:
        return (total // nodes, found) if total % nodes == 0 else None
    return None


def asks_for_gpus(directives: Sequence[BatchOption]) -> bool:
    """Whether SLURM gives the job GPUs, however many."""
    for directive in directives:
        text = plain(directive.value) if directive.value else ""
        if directive.name.startswith("gpus") and text != "0":
            return True
        if directive.name == "gres" and isinstance(text, str) and re.search(r"(?:^|,)gpu\b", text):
            return True
    return False


def _of_kind(text: str) -> int | Unknown:
    """The count in `gpu:4`; 1 for a bare kind of GPU, as in `gpu:h100`."""
    number = whole(text)
    if number is not None:
        return number
    kind = re.fullmatch(r"[a-z]{0,8}-?\d{1,4}[a-z0-9_.-]{0,12}", text)
    return 1 if kind or not text else Unknown(f"`{text}` is not a number of GPUs")


def tasks(directives: Sequence[BatchOption]) -> int | Unknown | None:
    given = count(directives, "ntasks")
    if given is not None:
        return given
    nodes, each = count(directives, "nodes"), count(directives, "ntasks-per-node")
    if isinstance(nodes, int) and isinstance(each, int):
        return nodes * each
    return next((number for number in (nodes, each) if isinstance(number, Unknown)), None)


def variables(directives: Sequence[BatchOption]) -> dict[str, Text]:
    """Variables that SLURM sets for the job (sbatch(1), "output environment variables")."""
    found: dict[str, Text] = {}

    def give(names: str, value: int | Unknown | None, *sources: str) -> None:
        place = last(directives, *sources)
        if value is not None and place is not None:
            text = value if isinstance(value, Unknown) else str(value)
            origin = (place.value or place.word.pieces)[0]
            piece = origin._replace(text=text, split=False)
            found.update(dict.fromkeys(names.split(), (piece,)))

    give("SLURM_NNODES SLURM_JOB_NUM_NODES", count(directives, "nodes"), "nodes")
    give("SLURM_NTASKS SLURM_NPROCS", tasks(directives), "ntasks", "ntasks-per-node")
    each = count(directives, "ntasks-per-node")
    give("SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE", each, "ntasks-per-node")
    give("SLURM_CPUS_PER_TASK", count(directives, "cpus-per-task"), "cpus-per-task")
    gpus = gpus_per_node(directives)
    if gpus is not None:
        give("SLURM_GPUS_ON_NODE", gpus[0], gpus[1].name)
    give("SLURM_GPUS_PER_TASK", count(directives, "gpus-per-task"), "gpus-per-task")
    give("SLURM_GPUS", count(directives, "gpus"), "gpus")
    for name, variable in TEXTS.items():
        directive = last(directives, name)
        if directive is not None and directive.value:
            found[variable] = directive.value
    return found


TEXTS = {
    "job-name": "SLURM_JOB_NAME",
    "partition": "SLURM_JOB_PARTITION",
    "account": "SLURM_JOB_ACCOUNT",
    "gpus-per-node": "SLURM_GPUS_PER_NODE",
}

"""#SBATCH lines and options of sbatch -> long names, values, and the variables that SLURM sets from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .bash.shell import Directive
from .bash.source import Source
from .bash.values import Piece, Text, Word, plain, whole
from .facts import Unknown

SHORT = {
    "A": "account",
    "B": "extra-node-info",
    "C": "constraint",
    "D": "chdir",
    "G": "gpus",
    "H": "hold",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "N": "nodes",
    "O": "overcommit",
    "Q": "quiet",
    "a": "array",
    "c": "cpus-per-task",
    "d": "dependency",
    "e": "error",
    "i": "input",
    "k": "no-kill",
    "m": "distribution",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "w": "nodelist",
    "x": "exclude",
    "K": "kill-on-bad-exit",
    "l": "label",
    "u": "unbuffered",
    "W": "wait",
}
_SWITCHES_WORDS = """hold overcommit quiet no-kill oversubscribe verbose exclusive requeue no-requeue
    parsable test-only
    spread-job use-min-nodes contiguous wait kill-on-bad-exit label unbuffered overlap pty multi-prog
    preserve-env container-remap-root no-container-remap-root container-mount-home no-container-mount-home
    container-writable no-container-entrypoint container-readonly reboot ignore-pbs disable-status"""
SWITCHES = frozenset(_SWITCHES_WORDS.split())
_LINE = re.compile(r"#SBATCH[ \t]+([^\n]*)")
_WORD = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'#]|(?<=\S)#)+|#.*")


def header(source: Source) -> Iterator[Directive]:
    """The directives before the first command; the others count for nothing."""
    start = 0
    for line in source.text.splitlines(keepends=True):
        if line.strip() and not line.startswith("#"):
            return
        match = _LINE.match(line)
        if match:
            yield from options(list(_words(source, start, line, match.start(1))))[0]
        start += len(line)


def _words(source: Source, start: int, line: str, position: int) -> Iterator[Word]:
    for found in _WORD.finditer(line.rstrip("\r\n"), position):
        if found[0].startswith("#"):
            return
        pieces = source.pieces(start + found.start(), start + found.end())
        yield Word(tuple(_unquoted(piece) for piece in pieces))


def _unquoted(piece: Piece) -> Piece:
    if isinstance(piece.text, Unknown):
        return piece
    return piece._replace(text=piece.text.replace('"', "").replace("'", ""))


def options(words: Sequence[Word]) -> tuple[list[Directive], list[Word]]:
    """The options in front, and the words behind them."""
    found: list[Directive] = []
    index = 0
    while index < len(words):
        word = words[index]
        lead = word.lead
        if not lead.startswith("-") or lead in ("-", "--"):
            break
        name, sign, _ = lead.partition("=")
        index += 1
        if lead.startswith("--"):
            written, long = name, name[2:].replace("_", "-")
            value = word.cut(len(name) + 1).pieces if sign else None
        else:
            written, long = lead[:2], SHORT.get(lead[1:2], lead[1:2])
            value = word.cut(2 + lead[2:].startswith("=")).pieces if len(lead) > 2 else None
        takes_next = value is None and long not in SWITCHES and index < len(words)
        if takes_next and not words[index].lead.startswith("-"):
            value = words[index].pieces
            index += 1
        found.append(Directive(long, value, word, written))
    return found, list(words[index:])


def last(directives: Iterable[Directive], *names: str) -> Directive | None:
    """The one that counts: sbatch takes the last, and the command's come behind the header's."""
    found = [directive for directive in directives if directive.name in names]
    return found[-1] if found else None


def count(directives: Sequence[Directive], name: str) -> int | Unknown | None:
    """The number of a directive; None where it is not given."""
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


def gpus_per_node(directives: Sequence[Directive]) -> tuple[int | Unknown, Directive] | None:
    """GPUs of a node, from --gpus-per-node, --gres, or GPUs of a task times its tasks."""
    direct = last(directives, "gpus-per-node")
    if direct is not None:
        return count(directives, "gpus-per-node") or 0, direct
    for directive in reversed([item for item in directives if item.name == "gres"]):
        text = plain(directive.value) if directive.value else ""
        if isinstance(text, Unknown):
            return text, directive
        for part in text.split(","):
            kind, *rest = part.split(":")
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


def _of_kind(text: str) -> int | Unknown:
    """Behind `gpu:` stands a number, or a kind of GPU of which one is meant."""
    number = whole(text)
    if number is not None:
        return number
    kind = re.fullmatch(r"[a-z]{0,8}-?\d{1,4}[a-z0-9_.-]{0,12}", text)
    return 1 if kind or not text else Unknown(f"`{text}` is no number of GPUs")


def tasks(directives: Sequence[Directive]) -> int | Unknown | None:
    given = count(directives, "ntasks")
    if given is not None:
        return given
    nodes, each = count(directives, "nodes"), count(directives, "ntasks-per-node")
    if isinstance(nodes, int) and isinstance(each, int):
        return nodes * each
    return next((number for number in (nodes, each) if isinstance(number, Unknown)), None)


def variables(directives: Sequence[Directive]) -> dict[str, Text]:
    """What SLURM sets for the job (sbatch(1), "output environment variables")."""
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

"""The builtins of bash -> their effect on the state: `cd`, `set`, `source`, `eval`, `read`, `getopts`."""

import posixpath
from collections.abc import Callable
from itertools import pairwise

from ...facts import Unknown
from ..shell import AWAY, DEEPEST, HOME, MOST_TRAPS, Shell
from ..source import PlacedText, file_source, text_source
from ..statements.conditions import test_words
from ..statements.control_flow import Break, Exit, Return, Status
from ..statements.run_statement import run_all
from ..syntax_tree import parse
from ..values import Piece, Text, Word, joined, lenient, plain, unknown_of
from ..words.arithmetic_expansion import arithmetic_text

Builtin = Callable[[Shell, PlacedText, list[Word]], Status]


def _number(words: list[Word], default: int) -> int:
    text = words[1].text if len(words) > 1 else ""
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 6 else default


def _exit(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    raise Exit


def _return(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    raise Return


def _break(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    raise Break(_number(words, 1), False)


def _continue(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    raise Break(_number(words, 1), True)


def _true(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    return True


def _false(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    return False


def _shift(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    count = _number(words, 1)
    if count > len(shell.positional):
        return False
    shell.positional = shell.positional[count:]
    return True


def _set(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    """`set -- a b` gives new arguments; options such as `-e` change no value."""
    texts = [word.text for word in words]
    if "--" in texts:
        shell.positional = tuple(word.pieces for word in words[texts.index("--") + 1 :])
    return True


def _cd(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    targets = [word for word in words[1:] if word.text not in ("--", "-P", "-L")]
    shell.cwd = _moved(shell, targets[0]) if targets else AWAY
    return True


def _pushd(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    """Without a folder, or with a place in the stack, it turns the stack."""
    if not any(
        isinstance(word.text, Unknown) or word.text[:1] not in ("-", "+") for word in words[1:]
    ):
        shell.cwd, shell.pushed = AWAY, ()
        return True
    shell.pushed = (*shell.pushed, shell.cwd)
    return _cd(shell, source, words)


def _popd(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    if shell.pushed:
        shell.cwd, shell.pushed = shell.pushed[-1], shell.pushed[:-1]
    return True


def _moved(shell: Shell, word: Word) -> str:
    """The folder that a shell goes to; one of the machine with what is known behind it."""
    target, own = word.text, posixpath.dirname(shell.path)
    if isinstance(target, Unknown):
        return _placed(HOME if _is_home(word) else AWAY, word.tail)
    if target == "-" or target.startswith("~"):
        return _placed(AWAY if target == "-" else HOME, target.lstrip("~"))
    if target.startswith("/") or _own_folder(shell, target):
        return target
    if own and not shell.cwd and f"{target}/".startswith(f"{own}/"):
        return target[len(own) + 1 :]
    return f"{shell.cwd}/{target}" if shell.cwd else target


def _placed(folder: str, behind: str) -> str:
    return folder + behind.rstrip("/") if behind.startswith("/") else folder


def _is_home(word: Word) -> bool:
    first = word.pieces[0].text
    return isinstance(first, Unknown) and first.unset == "HOME"


def _own_folder(shell: Shell, target: str) -> bool:
    """Whether a script that is started elsewhere goes to where it lies, among the files at hand."""
    return shell.cwd.startswith("/") and target == posixpath.dirname(shell.path) != ""


def _eval(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    return again(shell, joined(words[1:]) if len(words) > 1 else ())


def again(shell: Shell, text: Text) -> Status:
    """Run a text as a script in the current state."""
    if shell.depth > 3 * DEEPEST:
        return None
    inner = text_source(text, shell.path)
    shell.depth += 3
    try:
        return run_all(shell, inner, parse(inner).children)
    finally:
        shell.depth -= 3


def _source(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    if len(words) < 2 or words[1].text == "":
        line = words[0].line
        shell.outside = Unknown(f"the file that is sourced on line {line} may set it")
        return False if source.text.strip() in (".", "source") else None
    found = shell.world.find(words[1].pieces, shell)
    name = words[1].text
    shown = name if isinstance(name, str) else f"...{words[1].tail}"
    place = (words[0].path, words[0].line, words[0].column)
    if found is None or shell.depth > 3 * DEEPEST:
        if shown.rpartition("/")[2] not in HARMLESS:
            reason = f"`{shown}` is sourced, and is not there to be read"
            shell.world.note(reason, place, missing=True, sourced=True)
            shell.outside = Unknown(f"`{shown}`, which is sourced on line {place[1]}, may set it")
        return None
    path, text = found
    if path in shell.sourcing:
        shell.world.note(f"`{shown}` sources itself", place)
        return None
    shell.world.read[path] = text
    before, arguments, outer = shell.path, shell.positional, shell.sourcing
    if len(words) > 2:
        shell.positional = tuple(word.pieces for word in words[2:])
    shell.path, shell.sourcing = path, (*outer, path)
    shell.depth += 3
    try:
        inner = file_source(path, text)
        return run_all(shell, inner, parse(inner).children)
    except Return:
        return None
    finally:
        shell.path, shell.sourcing = before, outer
        if len(words) > 2:
            shell.positional = arguments
        shell.depth -= 3


#: Files that configure a machine or a login, not a job.
_HARMLESS_WORDS = (
    "activate .bashrc .bash_profile .profile .zshrc setvars.sh set_env.sh conda.sh modules.sh bash"
)
HARMLESS = frozenset(_HARMLESS_WORDS.split())


def _read(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    """`read a b` and `read -a NAME` from a here-string, and `read -d '' NAME`, which takes all that there is;
    other input is unknown."""
    texts = [str(word.text) for word in words[1:]]
    names = [text for text in texts if text.isidentifier()]
    given = plain(shell.stdin) if shell.stdin else None
    place = (words[0].path, words[0].line, words[0].column)
    separator = shell.get("IFS")
    marks = str(lenient(separator)) if separator else " \t\n"
    array = any("a" in text for text in texts if text.startswith("-") and text[1:2] != "-")
    whole = any(one[:1] == "-" and one[-1:] == "d" and not end for one, end in pairwise(texts))
    if whole and names and shell.stdin:
        shell.set(names[0], shell.stdin)
        return False
    if not isinstance(given, str):
        unread = (Piece(Unknown("it is read when the script runs", several=array), *place, array),)
        for name in names:
            if array:
                shell.set_elements(name, {"0": unread})
            else:
                shell.set(name, unread)
        return None
    line = given.split("\n")[0]
    for mark in marks:
        line = line.replace(mark, "\0")
    fields = [field for field in line.split("\0") if field] if marks else [line]
    if array:
        elements = {str(n): (Piece(field, *place),) for n, field in enumerate(fields)}
        if names:
            shell.set_elements(names[-1], elements)
        return True
    for index, name in enumerate(names):
        last = index == len(names) - 1
        value = " ".join(fields[index:]) if last else (fields[index] if index < len(fields) else "")
        shell.set(name, (Piece(value, *place),))
    return True


def _mapfile(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    name = str(words[-1].text)
    place = (words[0].path, words[0].line, words[0].column)
    given = plain(shell.stdin) if shell.stdin else None
    if name.isidentifier():
        unknown = Unknown("it is read when the script runs", several=True)
        lines: list[str | Unknown] = [unknown]
        if isinstance(given, str):
            lines = [*given.splitlines()]
        shell.set_elements(
            name,
            {
                str(n): (Piece(line, *place, isinstance(line, Unknown)),)
                for n, line in enumerate(lines)
            },
        )
    return None


def _let(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    value: int | Unknown = 0
    for word in words[1:]:
        value = arithmetic_text(shell, word.pieces, False)
    return None if isinstance(value, Unknown) else value != 0


def _test(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    texts = [word.pieces for word in words[1:] if unknown_of(word.pieces) is None or word.text]
    if words[0].text == "[" and texts and plain(texts[-1]) == "]":
        texts = texts[:-1]
    return test_words(shell, texts)


def _getopts(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    """One option of the arguments, as far as they are known."""
    if len(words) < 3 or not isinstance(words[1].text, str):
        return None
    letters, name = words[1].text, str(words[2].text)
    place = (words[0].path, words[0].line, words[0].column)
    index = shell.get("OPTIND")
    known = lenient(index) if index else "1"
    position = int(known) - 1 if isinstance(known, str) and known.isdecimal() else 0
    if position >= len(shell.positional):
        return None if shell.awaits_arguments else False
    option = lenient(shell.positional[position])
    if isinstance(option, Unknown):
        return None
    if not option.startswith("-") or option in ("-", "--"):
        return False
    letter, attached = option[1:2], option[2:]
    takes = f"{letter}:" in letters
    shell.set(name, (Piece(letter if letter in letters else "?", *place),))
    if takes and not attached and position + 1 < len(shell.positional):
        shell.set("OPTARG", shell.positional[position + 1])
        position += 1
    elif takes:
        shell.set("OPTARG", (Piece(attached, *place),))
    shell.set("OPTIND", (Piece(str(position + 2), *place),))
    return True


def _trap(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    """`trap TEXT SIGNAL...`; `trap - SIGNAL` and `trap -p` run nothing."""
    rest = [word for word in words[1:] if word.text != "--"]
    if len(rest) > 1 and rest[0].lead[:1] not in ("", "-") and len(shell.world.traps) < MOST_TRAPS:
        shell.world.traps.append((shell, rest))
    return True


def _unset(shell: Shell, source: PlacedText, words: list[Word]) -> Status:
    for word in words[1:]:
        shell.variables.pop(str(word.text), None)
    return True


BUILTINS: dict[str, Builtin] = {
    "exit": _exit,
    "return": _return,
    "break": _break,
    "continue": _continue,
    "true": _true,
    ":": _true,
    "false": _false,
    "shift": _shift,
    "set": _set,
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "let": _let,
    "test": _test,
    "[": _test,
    "getopts": _getopts,
    "unset": _unset,
    "trap": _trap,
    **dict.fromkeys(("wait", "ulimit", "umask", "shopt", "hash", "alias", "clear"), _true),
}

"""Programs whose output follows from arguments and input -> that output: `echo`, `seq`, `sed s///`."""

import posixpath
import re
from collections.abc import Callable

from ...facts import Unknown
from ..shell import AWAY, HOME, Shell, text_key
from ..source import text_source
from ..values import Piece, Text, Word, joined, plain, unknown_of
from ..words.word_expansion import pieces
from .number_expressions import calculate

Output = list[Piece] | None
Filter = Callable[[Shell, list[Word]], Output]
#: Longer inputs give an unknown output.
LONGEST = 200_000

#: Programs that print nothing.
_SILENT_WORDS = """mkdir rm cd sleep module conda chmod touch cp mv ln wait trap pip kill scancel export
    ulimit clear deactivate pushd popd modprobe sysctl"""
SILENT = frozenset(_SILENT_WORDS.split())


def _printed(shell: Shell, text: str) -> list[Piece]:
    return [Piece(text, shell.path, 1, 1)]


def _echo(shell: Shell, words: list[Word]) -> Output:
    newline = True
    while words and words[0].text in ("-n", "-e", "-E", "-ne", "-en"):
        newline = newline and "n" not in str(words[0].text)
        words = words[1:]
    found = list(joined(words)) if words else []
    if newline:
        end = found[-1] if found else Piece("", shell.path, 1, 1)
        found.append(Piece("\n", end.path, end.line, end.column))
    return [piece._replace(split=False) for piece in found]


def _printf(shell: Shell, words: list[Word]) -> Output:
    """`printf` with formats of `%s` and `%d` alone."""
    form = words[0].text if words else ""
    if not isinstance(form, str) or not re.fullmatch(r"(?:[^%\\]|%[sdi%]|\\n)*", form):
        return None
    arguments = list(words[1:])
    found: list[Piece] = []
    for part in re.findall(r"%[sdi]|[^%\\]+|\\n|%%", form):
        if part[0] == "%" and part != "%%":
            found += arguments.pop(0).pieces if arguments else ()
        else:
            found += _printed(shell, {"\\n": "\n", "%%": "%"}.get(part, part))
    return [piece._replace(split=False) for piece in found] if not arguments else None


def _operands(words: list[Word]) -> list[Word]:
    return [word for word in words if not (isinstance(word.text, str) and word.text[:1] == "-")]


def _dirname(shell: Shell, words: list[Word]) -> Output:
    found = _operands(words)
    text = found[-1].text if found else Unknown("")
    if isinstance(text, Unknown):
        return None
    return _printed(shell, posixpath.dirname(text.rstrip("/")) or ".")


def _basename(shell: Shell, words: list[Word]) -> Output:
    found = _operands(words)
    text = found[0].text if found else Unknown("")
    if isinstance(text, Unknown):
        return None
    suffix = str(found[1].text) if len(found) > 1 else ""
    return _printed(shell, text.rstrip("/").rpartition("/")[2].removesuffix(suffix))


def _same(shell: Shell, words: list[Word]) -> Output:
    found = _operands(words)
    return list(found[-1].pieces) if found else None


def _pwd(shell: Shell, words: list[Word]) -> Output:
    if shell.cwd.startswith((AWAY, HOME)):
        return None
    return _printed(shell, shell.cwd or ".")


def _content(shell: Shell, words: list[Word]) -> Text | None:
    """The text of the files that the arguments name, else the input."""
    if not words:
        return shell.stdin
    found: list[Piece] = []
    for word in words:
        if word.text == "-":
            found += shell.stdin or ()
            continue
        written = shell.files.get(text_key(word.pieces))
        if written is None:
            there = shell.world.find(word.pieces, shell)
            if there is None:
                return None
            path, text = there
            shell.world.read.setdefault(path, text)
            lines = text.splitlines(keepends=True)
            written = tuple(Piece(line, path, n, 1) for n, line in enumerate(lines, 1))
        found += written
    return tuple(found)


def _cat(shell: Shell, words: list[Word]) -> Output:
    found = _content(shell, _operands(words))
    return None if found is None else list(found)


def _tee(shell: Shell, words: list[Word]) -> Output:
    if shell.stdin is None:
        return None
    for word in _operands(words):
        shell.files[text_key(word.pieces)] = shell.stdin
    return list(shell.stdin)


def _numbers(words: list[Word]) -> list[int] | None:
    texts = [word.text for word in words]
    if not all(isinstance(text, str) and re.fullmatch(r"-?\d{1,9}", text) for text in texts):
        return None
    return [int(str(text)) for text in texts]


def _seq(shell: Shell, words: list[Word]) -> Output:
    numbers = _numbers(words)
    if not numbers or len(numbers) > 3:
        return None
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) == 3 else 1
    if not step or abs(numbers[-1] - first) // abs(step) > 10_000:
        return None
    last = numbers[-1] + (1 if step > 0 else -1)
    return _printed(shell, "\n".join(map(str, range(first, last, step))) + "\n")


def _expr(shell: Shell, words: list[Word]) -> Output:
    text = " ".join(str(word.text) for word in words).replace("\\", "")
    return _calculated(shell, text, whole=True) if _all_known(words) else None


def _all_known(words: list[Word]) -> bool:
    return all(isinstance(word.text, str) for word in words)


def _bc(shell: Shell, words: list[Word]) -> Output:
    text = plain(shell.stdin) if shell.stdin else None
    if not isinstance(text, str) or not re.fullmatch(r"[\s\d+\-*/%()]+", text):
        return None
    return _calculated(shell, text, whole=True)


def _python(shell: Shell, words: list[Word]) -> Output:
    """`python -c "print(<arithmetic>)"`; None for any other program."""
    texts = [word.text for word in words]
    if len(texts) != 2 or texts[0] != "-c" or not isinstance(texts[1], str):
        return None
    match = re.fullmatch(r"\s*(?:import math\s*;\s*)?print\((.*)\)\s*", texts[1], re.DOTALL)
    return _calculated(shell, match[1], whole=False) if match else None


def _awk(shell: Shell, words: list[Word]) -> Output:
    texts = [word.text for word in words]
    if len(texts) != 1 or not isinstance(texts[0], str):
        return None
    match = re.fullmatch(
        r"\s*BEGIN\s*\{\s*print\s+(?:int)?(\([\d\s+\-*/%()]+\)|\d+)\s*+;?\s*+\}\s*", texts[0]
    )
    return _calculated(shell, match[1], whole="int" in texts[0]) if match else None


def _calculated(shell: Shell, text: str, whole: bool) -> Output:
    value = calculate(text, whole)
    return None if value is None else _printed(shell, f"{value}\n")


def _known_input(shell: Shell, words: list[Word]) -> str | None:
    found = _content(shell, words)
    text = plain(found) if found else None
    return text if isinstance(text, str) and len(text) <= LONGEST else None


def _tr(shell: Shell, words: list[Word]) -> Output:
    text = _known_input(shell, [])
    sets = [str(word.text).replace("\\n", "\n").replace("\\t", "\t") for word in words]
    if text is None or not _all_known(words):
        return None
    if len(sets) == 2 and sets[0] == "-d":
        return _printed(shell, "".join(letter for letter in text if letter not in sets[1]))
    if len(sets) == 2 and not sets[0].startswith(("-", "[")) and len(sets[0]) == 1:
        return _printed(shell, text.replace(sets[0], sets[1][:1]))
    return None


def _wc(shell: Shell, words: list[Word]) -> Output:
    flags = [str(word.text) for word in words if str(word.text).startswith("-")]
    text = _known_input(shell, _operands(words))
    counts = {"-l": lambda t: t.count("\n"), "-w": lambda t: len(t.split()), "-c": len}
    if text is None or len(flags) != 1 or flags[0] not in counts:
        return None
    return _printed(shell, f"{counts[flags[0]](text)}\n")


def _cut(shell: Shell, words: list[Word]) -> Output:
    text = _known_input(shell, [])
    joined_flags = " ".join(str(word.text) for word in words)
    match = re.fullmatch(r"-d ?(.) -f ?(\d{1,9})|-f ?(\d{1,9}) -d ?(.)", joined_flags)
    if text is None or match is None:
        return None
    mark, index = match[1] or match[4], int(match[2] or match[3])
    lines = [line.split(mark) for line in text.splitlines()]
    return _printed(
        shell, "".join((parts[index - 1] if index <= len(parts) else "") + "\n" for parts in lines)
    )


def _head(shell: Shell, words: list[Word]) -> Output:
    text = _known_input(shell, [])
    flags = " ".join(str(word.text) for word in words)
    match = re.fullmatch(r"-n ?(\d{1,9})|-(\d{1,9})|", flags)
    if text is None or match is None:
        return None
    return _printed(
        shell, "".join(text.splitlines(keepends=True)[: int(match[1] or match[2] or 10)])
    )


def _sed(shell: Shell, words: list[Word]) -> Output:
    """`s/old/new/` with plain text for `old`, which is how templates are filled in."""
    scripts: list[Word] = []
    files: list[Word] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.text in ("-e", "--expression") and rest:
            scripts.append(rest.pop(0))
        elif word.lead.startswith("-"):
            return None
        elif not scripts:
            scripts.append(word)
        else:
            files.append(word)
    found = _content(shell, files)
    for script in scripts:
        found = None if found is None else _substituted(found, script)
    return None if found is None else list(found)


def _substituted(text: Text, script: Word) -> Text | None:
    """`text` with one substitution of sed's; the replacement may be unknown."""
    if len(script.lead) < 2 or script.lead[0] != "s":
        return None
    mark = script.lead[1]
    parts: list[list[Piece]] = [[]]
    for piece in script.cut(2).pieces:
        if isinstance(piece.text, Unknown):
            parts[-1].append(piece)
            continue
        for index, field in enumerate(piece.text.split(mark)):
            if index:
                parts.append([])
            if field:
                parts[-1].append(piece._replace(text=field))
    old = plain(tuple(parts[0])) if parts[0] else ""
    if len(parts) != 3 or not isinstance(old, str) or not old or re.search(r"[\\.*\[\]^$]", old):
        return None
    every = "g" in str(plain(tuple(parts[2]))) if parts[2] else False
    return tuple(_replaced(text, old, parts[1], every))


def _replaced(text: Text, old: str, new: list[Piece], every: bool) -> list[Piece]:
    found: list[Piece] = []
    for piece in text:
        if isinstance(piece.text, Unknown) or old not in piece.text:
            found.append(piece)
            continue
        for line in piece.text.splitlines(keepends=True):
            fields = line.split(old) if every else line.split(old, 1)
            for index, field in enumerate(fields):
                found += new if index else []
                if field:
                    found.append(piece._replace(text=field))
    return found


def _envsubst(shell: Shell, words: list[Word]) -> Output:
    if not shell.stdin or unknown_of(shell.stdin) is not None:
        return None
    flat = text_source(shell.stdin, shell.path)
    if "`" in flat.text or "$(" in flat.text or "\\" in flat.text:
        return None
    return [
        piece._replace(split=False) for piece in pieces(shell, flat, 0, len(flat.text), True, True)
    ]


FILTERS: dict[str, Filter] = {
    "echo": _echo,
    "printf": _printf,
    "dirname": _dirname,
    "basename": _basename,
    "realpath": _same,
    "readlink": _same,
    "pwd": _pwd,
    "cat": _cat,
    "tee": _tee,
    "seq": _seq,
    "expr": _expr,
    "bc": _bc,
    "python": _python,
    "python3": _python,
    "awk": _awk,
    "tr": _tr,
    "wc": _wc,
    "cut": _cut,
    "head": _head,
    "sed": _sed,
    "envsubst": _envsubst,
}

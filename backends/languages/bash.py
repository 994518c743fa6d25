"""Values -> bash: words, the inside of quotes, comments, and which of these a place in a script takes."""

from __future__ import annotations

import re

from . import sbatch
from .language import CLOSE, Language, Written, one_line, plain_text, writable

#: What bash reads as it stands, at any place of a command; `==` compares in some.
_PLAIN = re.compile(r"(?!=)[\w./:=+@%-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What stays a variable in a path.
_VARIABLE = re.compile(r"(\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})", re.ASCII)


class Bash(Written):
    """Text of bash."""

    __slots__ = ()


def code(text: str) -> Bash:
    """A line of bash that this program or the job's `setup` states as such."""
    return Bash(writable(text))


def word(value: object) -> Bash:
    """One word that bash reads as exactly this text or number."""
    text = plain_text(value)
    return Bash(text if _PLAIN.fullmatch(text) else f'"{_spelled(_escaped(writable(text)))}"')


def path(text: str) -> Bash:
    """One word, in which `$NAME` and `${NAME}` stay variables."""
    return Bash(text if _PLAIN.fullmatch(text) else f'"{inside(text)}"')


def operand(path: str) -> str:
    """The path of the same file that no program takes for an option: `./` stands before a dash."""
    return f"./{path}" if path.startswith("-") else path


def option(name: str, value: Bash) -> Bash:
    """One word that gives an option its value, whatever that begins with."""
    return Bash(f"{word(name)}={value}")


def name(text: str) -> Bash:
    """The name of a variable. Raises `ValueError` for what is none."""
    if _NAME.fullmatch(text):
        return Bash(text)
    raise ValueError(f"{text!r} is no name of a variable")


def variable(text: str) -> Bash:
    """The value of a variable, as one word."""
    return Bash(f'"${name(text)}"')


def replaceable(variable: str, text: str) -> Bash:
    """Sets a variable that keeps the value that the environment gives it; `$NAME` in the text stays one."""
    return Bash(f'{name(variable)}="${{{variable}:-{default(text)}}}"')


def exported(variable: str, text: str) -> Bash:
    """Exports a variable to the programs that the script starts; the environment's value has precedence."""
    return Bash(f"export {replaceable(variable, text)}")


def fixed(variable: str, text: str | None) -> Bash:
    """Sets a variable whatever the environment says, or unsets it."""
    return Bash(
        f"unset {name(variable)}" if text is None else f"export {name(variable)}={word(text)}"
    )


def below(variable: str, folder: str, rest: str, pattern: Bash | None = None) -> Bash:
    """One word: a path in the folder that a variable of the environment names, else in `folder`; a `pattern`
    of names may follow it."""
    return Bash(f'"${{{name(variable)}:-{default(folder)}}}/{inside(rest)}"{pattern or ""}')


def command(*words: Bash) -> Bash:
    return Bash(" ".join(words))


def noted(text: Bash, why: str, width: int = 0) -> Bash:
    """A line with a comment behind it, which begins after `width` characters."""
    return Bash(f"{text:<{width}}  # {comment(why)}") if why else text


def inside(text: str) -> Bash:
    """A text as it stands between double quotes; `$NAME` and `${NAME}` in it stay variables."""
    return Bash(_spelled(_with_variables(text)))


def default(text: str) -> Bash:
    """A text as it stands inside `"${NAME:-...}"`; `$NAME` and `${NAME}` in it stay variables.

    There apostrophes, braces and what means something between commands are read as more than text unless
    quoted once more, and bash looks for `<(` in those quotes too. A `#` begins a comment for tree-sitter.
    """
    quoted = Bash(_with_variables(text))
    if not re.search(r"['<>()}|&;#]", _VARIABLE.sub("", text)):
        return quoted
    return Bash('"' + re.sub(r"(?<=[<>])\(", '""(', quoted) + '"')


def single(text: str) -> Bash:
    """A text as it stands between apostrophes."""
    return Bash(writable(text).replace("'", "'\\''"))


def quoted(text: str) -> Bash:
    """One word between apostrophes, in which nothing means anything to bash."""
    return Bash(f"'{single(text)}'")


def comment(text: str) -> Bash:
    return Bash(one_line(text))


def remark(text: str) -> Bash:
    """A line of comment."""
    return Bash(f"# {comment(text)}")


def _with_variables(text: str) -> str:
    pieces = _VARIABLE.split(writable(text))
    return "".join(piece if index % 2 else _escaped(piece) for index, piece in enumerate(pieces))


def _spelled(quoted: str) -> str:
    """Bash 5.2 doubles a byte 1 between double quotes in an array; between apostrophes it does not."""
    return re.sub("([\x01\x7f]+)", "\"'\\1'\"", quoted)


def _escaped(text: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", text)


_COMMENT = {"\n": CLOSE, "\\\n": CLOSE}
_QUOTES = {"'": "single", "$'": "single", '"': "double", "$(": "command", "${": "value"}
_CODE = {**_QUOTES, "(": "command", "#": "comment", "#SBATCH ": "directive"}

LANGUAGE = Language(
    name="bash",
    suffixes=(".sh.j2", ".sbatch.j2"),
    code=code,
    # A `#` begins a comment only where a word may begin.
    marks=re.compile(r"""\\.|\$['({]|['"(){}\n]|(?<![^\s;(])#(?:SBATCH )?""", re.DOTALL),
    places={
        "code": _CODE,
        "command": {**_CODE, ")": CLOSE},
        "value": {**_QUOTES, "}": CLOSE},
        "double": {'"': CLOSE, "$(": "command", "${": "default"},
        "default": {'"': "double", "$'": "single", "$(": "command", "${": "default", "}": CLOSE},
        "single": dict.fromkeys(("'", "$'", "\\'"), CLOSE),
        "comment": _COMMENT,
        "directive": _COMMENT,
    },
    writers={
        **dict.fromkeys(("code", "command", "value"), (Bash, word)),
        "double": (None, inside),
        "default": (None, default),
        "single": (None, single),
        "comment": (None, comment),
        "directive": (sbatch.Sbatch, sbatch.value),
    },
)

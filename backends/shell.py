"""A bash script -> the words of the command that it launches, and its variables. Nothing is run.

Reads what parc emits: assignments, `${NAME:-default}`, arrays over several lines with comments,
`"${ARRAY[@]}"`, continued lines, a command after `exec`. What it cannot decide is `Unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .backend import Unknown

#: Programs that start a training job; the last such command of a script is the launched one.
PROGRAMS = frozenset({"torchrun", "python", "python3", "deepspeed", "accelerate", "srun"})


@dataclass(frozen=True)
class Word:
    """One word of a command after expansion, and where its source word stands (from 1)."""

    text: str | Unknown
    line: int
    column: int


@dataclass(frozen=True)
class Script:
    """The launched command (empty when there is none) and every variable at the end of the script."""

    command: tuple[Word, ...]
    variables: Mapping[str, Word]


def read_script(text: str, programs: Collection[str] = PROGRAMS) -> Script:
    """What a script launches: the last command whose program, without its folder, is one of `programs`."""
    reader = _Reader(programs)
    for statement in _statements(text):
        reader.run(statement)
    return Script(reader.command, reader.variables)


@dataclass(frozen=True)
class _Part:
    """A piece of a word: literal text, an expansion's inside (`NAME:-default`), or something unreadable."""

    kind: str
    text: str
    quoted: bool


@dataclass
class _Token:
    """A word, or an operator (`kind` is its text)."""

    kind: str
    line: int
    column: int
    parts: list[_Part] = field(default_factory=list)


_SPACE = re.compile(r"(?:[ \t]|\\\n)+")
_OPERATOR = re.compile(r"\n|;;|;|&&|\|\||&|\||\(|\)")
_ARITHMETIC = re.compile(r"\(\((?:[^)]|\)(?!\)))*\)\)")
_REDIRECT = re.compile(r"\d*(?:<<<|>>|>&|<&|[<>])\d*")
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[@*#?$!\d]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_EXPANSION = re.compile(r"([A-Za-z_]\w*|[@*#?$!\d])(?:\[(@|\*)\])?(?:(:?[-=+?])(.*))?\Z", re.DOTALL)
_OPENERS = frozenset({"if", "for", "while", "until", "case"})
_CLOSERS = frozenset({"fi", "done", "esac"})
_PREFIXES = frozenset({"exec", "time", "command", "then", "else", "do", "!"})
_DECLARATIONS = frozenset({"export", "declare", "local", "readonly", "typeset"})


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        if match := _SPACE.match(text, position):
            position = match.end()
            continue
        if text[position] == "#":
            position = _line_end(text, position)
            continue
        token = _Token("word", *_place(text, position))
        if match := _ARITHMETIC.match(text, position):
            token.parts.append(_Part("opaque", match[0], True))
            position = match.end()
        elif match := _OPERATOR.match(text, position):
            token.kind = match[0]
            position = match.end()
        elif match := _REDIRECT.match(text, position):
            token.kind = "redirect"
            position = match.end()
        else:
            position = _word(text, position, token)
        yield token


def _place(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _word(text: str, position: int, token: _Token) -> int:
    """Read one word from `position` into the token's parts; the position after it."""
    while position < len(text) and text[position] not in " \t\n;&|()<>":
        if text.startswith("\\\n", position):
            break
        char = text[position]
        if char == "'":
            end = _find(text, "'", position + 1)
            token.parts.append(_Part("text", text[position + 1 : end], True))
            position = end + 1
        elif char == '"':
            position = _double_quoted(text, position + 1, token.parts)
        elif char == "\\":
            token.parts.append(_Part("text", text[position + 1 : position + 2], True))
            position += 2
        elif char in "$`":
            position = _dollar(text, position, False, token.parts)
        else:
            token.parts.append(_Part("text", char, False))
            position += 1
    return position


def _find(text: str, wanted: str, position: int) -> int:
    end = text.find(wanted, position)
    return len(text) if end < 0 else end


def _double_quoted(text: str, position: int, parts: list[_Part]) -> int:
    parts.append(_Part("text", "", True))
    while position < len(text) and text[position] != '"':
        char = text[position]
        if char in "$`":
            position = _dollar(text, position, True, parts)
        elif char == "\\" and text[position + 1 : position + 2] in ('"', "\\", "$", "`"):
            parts.append(_Part("text", text[position + 1], True))
            position += 2
        else:
            parts.append(_Part("text", char, True))
            position += 1
    return position + 1


def _dollar(text: str, position: int, quoted: bool, parts: list[_Part]) -> int:
    """Read `$NAME`, `${...}`, `$(...)`, `$((...))` or a back-quoted command."""
    if text[position] == "`":
        end = _find(text, "`", position + 1) + 1
        parts.append(_Part("opaque", text[position:end], quoted))
        return end
    following = text[position + 1 : position + 2]
    if following in ("{", "("):
        end = _closing(text, position + 1)
        kind = "expand" if following == "{" else "opaque"
        inside = text[position + 2 : end - 1] if kind == "expand" else text[position:end]
        parts.append(_Part(kind, inside, quoted))
        return end
    if match := _PARAMETER.match(text, position + 1):
        parts.append(_Part("expand", match[0], quoted))
        return match.end()
    parts.append(_Part("text", "$", quoted))
    return position + 1


def _closing(text: str, position: int) -> int:
    """The position after the bracket that closes the one at `position`."""
    opening, depth = text[position], 0
    closing = {"{": "}", "(": ")"}[opening]
    while position < len(text):
        depth += (text[position] == opening) - (text[position] == closing)
        position += 1
        if depth == 0:
            break
    return position


@dataclass
class _Statement:
    """The words of one simple command; `arrays` holds the elements of `NAME=( ... )` by word index."""

    words: list[_Token] = field(default_factory=list)
    arrays: dict[int, list[_Token]] = field(default_factory=dict)


def _statements(text: str) -> Iterator[_Statement]:
    statement, array, skip = _Statement(), None, False
    for token in _tokens(text):
        if array is not None:
            if token.kind == ")":
                array = None
            elif token.kind == "word":
                array.append(token)
        elif token.kind == "redirect":
            skip = True
        elif token.kind == "word":
            if not skip:
                statement.words.append(token)
            skip = False
        elif token.kind == "(" and statement.words and _literal(statement.words[-1]).endswith("="):
            array = statement.arrays.setdefault(len(statement.words) - 1, [])
        else:
            yield statement
            statement, skip = _Statement(), False
    yield statement


def _literal(token: _Token) -> str:
    return "".join(part.text for part in token.parts if part.kind == "text" and not part.quoted)


class _Reader:
    """Evaluates statements in order; assignments below `if`, `for` and the like are not decided."""

    def __init__(self, programs: Collection[str]):
        self.programs = programs
        self.depth = 0
        self.command: tuple[Word, ...] = ()
        self.variables: dict[str, Word] = {}
        self.arrays: dict[str, list[Word]] = {}

    def run(self, statement: _Statement) -> None:
        words = list(enumerate(statement.words))
        while words:
            index, token = words[0]
            literal = _literal(token)
            self.depth += (literal in _OPENERS) - (literal in _CLOSERS)
            if assigned := self._assignment(token):
                self._assign(token, assigned, statement.arrays.get(index))
            elif literal not in _PREFIXES | _OPENERS | _DECLARATIONS:
                break
            words.pop(0)
        expanded = [word for _, token in words for word in self._expand(token)]
        if expanded and str(expanded[0].text).rpartition("/")[2] in self.programs:
            self.command = tuple(expanded)

    def _assignment(self, token: _Token) -> re.Match[str] | None:
        lead = ""
        for part in token.parts:
            if part.kind != "text" or part.quoted:
                break
            lead += part.text
        return _ASSIGNMENT.match(lead)

    def _assign(self, token: _Token, match: re.Match[str], array: list[_Token] | None) -> None:
        name = match[1]
        if array is not None:
            old = self.arrays.get(name, []) if match[2] else []
            self.arrays[name] = old + [word for item in array for word in self._expand(item)]
            if self.depth:
                self.arrays[name] = [Word(_branch(name), token.line, token.column)]
            return
        value = self._join(token.parts[len(match[0]) :])
        if self.depth or match[2]:
            value = _branch(name)
        self.variables[name] = Word(value, token.line, token.column)

    def _join(self, parts: list[_Part]) -> str | Unknown:
        text = ""
        for part in parts:
            value = self._value(part)
            if isinstance(value, Unknown):
                return value
            text += value
        return text

    def _value(self, part: _Part) -> str | Unknown:
        if part.kind == "text":
            return part.text
        match = _EXPANSION.match(part.text) if part.kind == "expand" else None
        if match is None:
            return Unknown(f"`{part.text}` is decided when the script runs")
        name, operator, default = match[1], match[3], match[4]
        value = self.variables[name].text if name in self.variables else None
        if value is None or (value == "" and operator in (":-", ":=")):
            if operator in (":-", "-", ":=", "="):
                return self._join(_parts(default))
            return Unknown(f"`{name}` comes from outside the script")
        return value if operator not in ("+", ":+") else self._join(_parts(default))

    def _expand(self, token: _Token) -> list[Word]:
        if len(token.parts) <= 2 and token.parts and token.parts[-1].kind == "expand":
            match = _EXPANSION.match(token.parts[-1].text)
            if match and match[2]:
                return self.arrays.get(match[1], [])
            if match and match[1] in "@*":
                return []
        text = self._join(token.parts)
        bare = any(part.kind == "expand" and not part.quoted for part in token.parts)
        pieces = text.split() if bare and isinstance(text, str) else [text]
        return [Word(piece, token.line, token.column) for piece in pieces]


def _branch(name: str) -> Unknown:
    return Unknown(f"`{name}` is set in a branch or added to")


def _parts(text: str) -> list[_Part]:
    token = _Token("word", 1, 1)
    _double_quoted(text + '"', 0, token.parts)
    return token.parts

"""The arithmetic of `$(( ))`: 64-bit integers, and unknown where an operand is."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ....dsl.syntax.quoting import shortened
from ...facts import Unknown

Number = int | Unknown
#: Functions that look up the value of a name, and assign it.
Lookup = Callable[[str], Number]
Assign = Callable[[str, int | Unknown], None]

_TOKEN = re.compile(
    r"(\d+#\w+|0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*(?:\[[^\]]{0,200}\])?)|"
    r"(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),])|([\U000f0000-\U000ffffd])|(\S)"
)
_STRENGTH = {
    operator: level
    for level, row in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in row.split()
}
_ASSIGNMENTS_WORDS = "= += -= *= /= %= <<= >>= &= ^= |="
_ASSIGNMENTS = frozenset(_ASSIGNMENTS_WORDS.split())
#: Longer or deeper expressions are unknown.
LONGEST = 4000
DEEPEST = 60


class _Failed(Exception):
    """The text is not an expression, or divides by zero."""


def evaluate(text: str, lookup: Lookup, assign: Assign, unknown: dict[str, Unknown]) -> Number:
    """The value of an expression; `unknown` maps the marks in it to unknown values."""
    if len(text) > LONGEST:
        return Unknown("the expression is too long")
    try:
        return _Expression(_tokens(text), lookup, assign, unknown).whole()
    except _Failed as failed:
        return Unknown(f"`{_short(text)}`: {failed}")


def _tokens(text: str) -> list[tuple[str, str]]:
    found = []
    for match in _TOKEN.finditer(text):
        kind = ("number", "name", "operator", "mark", "other")[(match.lastindex or 1) - 1]
        found.append((kind, match[0]))
    return found


def _short(text: str) -> str:
    return shortened(" ".join(text.split()))


def number_of(text: str) -> int:
    """A literal of bash; raises `ValueError` for `08`, which is no octal number."""
    if "#" in text:
        base, _, digits = text.partition("#")
        return int(digits, int(base))
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    return int(text, 8) if text.startswith("0") and text != "0" else int(text)


@dataclass
class _Expression:
    tokens: list[tuple[str, str]]
    lookup: Lookup
    assign: Assign
    unknown: dict[str, Unknown]
    position: int = 0
    depth: int = 0
    #: Whether assignments take effect: not after `0 &&`.
    idle: int = 0

    def whole(self) -> Number:
        if not self.tokens:
            return 0
        value = self.comma()
        if self.position < len(self.tokens):
            raise _Failed("it is no expression")
        return value

    def peek(self) -> str:
        return self.tokens[self.position][1] if self.position < len(self.tokens) else ""

    def take(self, text: str) -> bool:
        if self.peek() == text:
            self.position += 1
            return True
        return False

    def comma(self) -> Number:
        value = self.ternary()
        while self.take(","):
            value = self.ternary()
        return value

    def ternary(self) -> Number:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Failed("it is nested too deep")
        value = self.assignment()
        self.depth -= 1
        return value

    def assignment(self) -> Number:
        if self.position + 1 < len(self.tokens) and self.tokens[self.position][0] == "name":
            name, operator = self.tokens[self.position][1], self.tokens[self.position + 1][1]
            if operator in _ASSIGNMENTS:
                self.position += 2
                value = self.ternary()
                if operator != "=":
                    value = _apply(operator[:-1], self.lookup(name), value)
                return self.store(name, value)
        return self.conditional()

    def store(self, name: str, value: Number) -> Number:
        if not self.idle:
            self.assign(name, value)
        return value

    def conditional(self) -> Number:
        test = self.binary(0)
        if not self.take("?"):
            return test
        chosen = self.guarded(test == 0 or isinstance(test, Unknown), self.ternary)
        if not self.take(":"):
            raise _Failed("`?` without `:`")
        other = self.guarded(test != 0 or isinstance(test, Unknown), self.ternary)
        if isinstance(test, Unknown):
            return chosen if chosen == other else _either(test, chosen, other)
        return chosen if test else other

    def guarded(self, idle: bool, parse: Callable[[], Number]) -> Number:
        self.idle += idle
        value = parse()
        self.idle -= idle
        return value

    def binary(self, least: int) -> Number:
        """Parse binary operators of at least this precedence, left-associative."""
        left = self.power()
        while (level := _STRENGTH.get(self.peek(), -1)) >= least:
            operator = self.peek()
            self.position += 1
            decided = not isinstance(left, Unknown) and (
                (operator == "&&" and left == 0) or (operator == "||" and left != 0)
            )
            right = self.guarded(decided, partial(self.binary, level + 1))
            left = int(operator == "||") if decided else _apply(operator, left, right)
        return left

    def power(self) -> Number:
        base = self.unary()
        return _apply("**", base, self.power_of()) if self.take("**") else base

    def power_of(self) -> Number:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Failed("it is nested too deep")
        return self.power()

    def unary(self) -> Number:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Failed("it is nested too deep")
        value = self.unary_of()
        self.depth -= 1
        return value

    def unary_of(self) -> Number:
        for step, operator in ((1, "++"), (-1, "--")):
            if self.take(operator):
                name = self.name()
                return self.store(name, _apply("+", self.lookup(name), step))
        for operator in "-+!~":
            if self.take(operator):
                value = self.unary()
                return value if isinstance(value, Unknown) else _UNARY[operator](value)
        return self.primary()

    def name(self) -> str:
        kind, text = self.tokens[self.position] if self.position < len(self.tokens) else ("", "")
        if kind != "name":
            raise _Failed("a name is missing")
        self.position += 1
        return text

    def primary(self) -> Number:
        if self.position >= len(self.tokens):
            raise _Failed("it ends too early")
        kind, text = self.tokens[self.position]
        if text == "(":
            self.position += 1
            value = self.comma()
            if not self.take(")"):
                raise _Failed("a bracket is open")
            return value
        self.position += 1
        if kind == "number":
            return _literal(text)
        if kind == "mark":
            return self.unknown.get(text, Unknown("it is not known"))
        if kind != "name":
            raise _Failed(f"`{text}` is not a number")
        return self.postfix(text)

    def postfix(self, name: str) -> Number:
        value = self.lookup(name)
        for step, operator in ((1, "++"), (-1, "--")):
            if self.take(operator):
                self.store(name, _apply("+", value, step))
        return value


_UNARY: dict[str, Callable[[int], int]] = {
    "-": lambda value: -value,
    "+": lambda value: value,
    "!": lambda value: int(not value),
    "~": lambda value: ~value,
}


def _literal(text: str) -> int:
    try:
        return number_of(text)
    except ValueError:
        raise _Failed(f"`{text}` is not a number") from None


def _either(test: Unknown, one: Number, other: Number) -> Unknown:
    known = tuple(str(value) for value in (one, other) if not isinstance(value, Unknown))
    return Unknown(test.reason, known if len(known) == 2 else ())


_BINARY: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "**": lambda a, b: pow(a, b, 2**64),
}


def _apply(operator: str, left: Number, right: Number) -> Number:
    if isinstance(left, Unknown):
        return left
    if isinstance(right, Unknown):
        return right
    if operator in "/%" and right == 0:
        raise _Failed("division by zero")
    if operator == "**" and right < 0:
        raise _Failed("the exponent is negative")
    value = _BINARY[operator](left, right)
    return (value + 2**63) % 2**64 - 2**63

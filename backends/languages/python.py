"""Values -> Python: literals, calls, names, the inside of strings, comments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from .language import CLOSE, Language, Written, one_line, writable

#: Python takes a comment of the first two lines that says this for the file's encoding (PEP 263).
_ENCODING = re.compile(r"(coding)([:=])")


class Python(Written):
    """Text of Python."""

    __slots__ = ()


def code(text: str) -> Python:
    """Python that this program states as such."""
    return Python(writable(text))


def literal(value: object) -> Python:
    """An expression of a value: a text, a number, none, or lists and tuples of such; in Black's form unless
    a text has quotes or escapes."""
    if isinstance(value, float):
        return Python(f'float("{value}")') if math.isinf(value) else number(repr(value))
    text = writable(repr(value))
    return Python(text if '"' in text or "\\" in text else text.replace("'", '"'))


def name(text: str) -> Python:
    """A name, or names with dots between them. Raises `ValueError` for what is none."""
    if all(part.isidentifier() for part in text.split(".")):
        return Python(text)
    raise ValueError(f"{text!r} is no name of Python")


def number(text: str) -> Python:
    """A number with the digits that it was given. Raises `ValueError` for what is none."""
    float(text)
    return Python(text.strip().replace("e+", "e"))


def call(function: str, *given: Python, **named: object) -> Python:
    """A call with expressions, and with values by name."""
    return Python(f"{name(function)}({listing([*given, arguments(named)] if named else given)})")


def long_call(function: str, indent: str, **named: object) -> Python:
    """A call with values by name, a line each, in a statement that is indented by `indent`."""
    lines = "".join(f"{indent}    {item(keyword(key, value))}\n" for key, value in named.items())
    return Python(f"{name(function)}(\n{lines}{indent})")


def arguments(values: Mapping[str, object]) -> Python:
    """Values by name, as a call has them."""
    return listing([keyword(key, value) for key, value in values.items()])


def keyword(key: str, value: object) -> Python:
    return Python(f"{name(key)}={value if isinstance(value, Python) else literal(value)}")


def argument(key: str, value: object, why: str | None = None) -> Python:
    """A line of a call over several lines, with a comment behind it."""
    return noted(item(keyword(key, value)), why)


def item(expression: Python) -> Python:
    """A line of a call or of a list."""
    return Python(f"{expression},")


def remark(text: str) -> Python:
    """A line of comment."""
    return Python(f"# {comment(text)}")


def method(of: Python, called: str) -> Python:
    return Python(f"{of}.{name(called)}()")


def listing(parts: Sequence[Python]) -> Python:
    """Names or expressions with commas between them."""
    return Python(", ".join(parts))


def noted(text: Python, why: str | None) -> Python:
    """A line with a comment behind it."""
    return Python(f"{text}  # {comment(why)}") if why else text


def comment(text: str) -> Python:
    return Python(_ENCODING.sub(r"\1 \2", one_line(text)))


def _inside(mark: str) -> Callable[[str], Python]:
    def inside(text: str) -> Python:
        """A text as it stands in a string between two of `mark`, or in a docstring."""
        escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
        return Python(one_line(writable(escaped)))

    return inside


_COMMENT = {"\n": CLOSE, "\\\n": CLOSE}

LANGUAGE = Language(
    name="python",
    suffixes=(".py.j2",),
    code=code,
    marks=re.compile(r"""\\.|\"{3}|'{3}|["'#\n]""", re.DOTALL),
    places={
        "code": {'"""': "docstring", '"': "double", "'": "single", "#": "comment"},
        "docstring": {'"""': CLOSE},
        "double": {'"': CLOSE},
        "single": {"'": CLOSE},
        "comment": _COMMENT,
    },
    writers={
        "code": (Python, literal),
        "docstring": (None, _inside('"')),
        "double": (None, _inside('"')),
        "single": (None, _inside("'")),
        "comment": (None, comment),
    },
)

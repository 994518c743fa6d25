"""The expression of one setting -> a value of its field's type: number in base units, word, text, table."""

from collections.abc import Callable
from dataclasses import replace

from .. import codes
from ..diagnostics import JobError, replaced, suggested
from ..report import wrong
from ..schema import SettingType
from ..settings import Data
from ..syntax.tree import Collection, Identifier, Map, Node, Number, Setting, Text
from ..units import Measure, example, fits, in_words
from .evaluate import Constant, Interval, Members, evaluate, kind_of, plain
from .scope import Names
from .spellings import TRUTHS, WORDS
from .value_cures import (
    as_range,
    as_table,
    as_weights,
    as_written,
    in_quotes,
    nothing,
    out_of_quotes,
    with_unit,
)

#: The most choices of a range or set, and the largest one.
MAX_CHOICES = 4096
MAX_CHOICE = 10**6


def read(node: Node, field: SettingType, names: Names) -> object:
    """The value of a setting, in base units. Raises `JobError` at the position of what is wrong in it."""
    if (
        field.optional
        and isinstance(node, Identifier)
        and node.name == "none"
        and "none" not in field.words
    ):
        return None
    try:
        return _READERS[field.kind](node, field, names)
    except JobError as error:
        help, fix = nothing(node, field)
        if help is None:
            raise
        said = [replace(each, help=help, fix=fix) for each in error.diagnostics]
        raise JobError(said) from None


def measured(node: Node, field: SettingType, names: Names) -> Measure:
    """A number of the dimension that a field takes. Raises `JobError` for another kind or dimension."""
    value = _evaluated(node, names, lambda: _like(field))
    if not isinstance(value, Measure):
        text = out_of_quotes(value, node, field)
        raise _wrong_kind(node, field, in_words(field.dimension), kind_of(value), text)
    return fitting(value, node, field)


def _evaluated(node: Node, names: Names, help: Callable[[], str]) -> Constant:
    """The value; of a name that stands alone and is unknown, `help` says what goes there."""
    try:
        return evaluate(node, names.lookup)
    except JobError as error:
        if not isinstance(node, Identifier):
            raise
        raise JobError(
            [replace(each, help=each.help or help()) for each in error.diagnostics]
        ) from None


def _like(field: SettingType) -> str:
    shown = (example(field.dimension) or "").removeprefix("write it ")
    return f"`{field.key}` takes {in_words(field.dimension)} {shown}".rstrip()


def fitting(value: Measure, node: Node, field: SettingType) -> Measure:
    if fits(value.dimension, field.dimension) or value.zero:
        return value
    given = in_words(value.dimension)
    message = f"`{field.key}` takes {in_words(field.dimension)}, but `{_shown(node)}` is {given}"
    help, fix = with_unit(value, node, field)
    raise wrong(codes.WRONG_DIMENSION, message, node.span, help, fix=fix)


#: Characters of a value that a message quotes.
_LONGEST = 80


def _shown(node: Node) -> str:
    """The written text, as a message quotes it."""
    text = as_written(node)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _wrong_kind(
    node: Node, field: SettingType, wanted: str, found: str, text: str | None = None
) -> JobError:
    """The complaint about a value; `text` is how it is written."""
    message = f"`{field.key}` takes {wanted}, but `{_shown(node)}` is {found}"
    help, fix = (f"write `{text}`", replaced(node.span, text)) if text else (None, None)
    return wrong(codes.WRONG_KIND, message, node.span, help, fix=fix)


def _number(node: Node, field: SettingType, names: Names) -> float:
    return float(measured(node, field, names).value)


def _whole(node: Node, field: SettingType, names: Names) -> int:
    return whole(measured(node, field, names), node, field)


def whole(value: Measure, node: Node, field: SettingType) -> int:
    """A whole number; bytes are rounded, anything else must be whole already."""
    if (
        isinstance(value.value, float)
        and not value.value.is_integer()
        and str(field.dimension) != "B"
    ):
        message = (
            f"`{field.key}` takes a whole number, but `{as_written(node)}` is {plain(value.value)}"
        )
        raise wrong(codes.WRONG_KIND, message, node.span)
    return round(value.value)


def _truth(node: Node, field: SettingType, names: Names) -> bool:
    try:
        value = evaluate(node, names.lookup)
    except JobError as error:
        if isinstance(node, Identifier) and error.diagnostics:
            text = TRUTHS.get(node.name.lower())
            raise _wrong_kind(node, field, "`true` or `false`", "neither", text) from None
        raise
    if not isinstance(value, bool):
        text = TRUTHS.get(value.lower()) if isinstance(value, str) else None
        raise _wrong_kind(node, field, "`true` or `false`", kind_of(value), text)
    return value


def _word(node: Node, field: SettingType, names: Names) -> str:
    if as_written(node) in field.words:
        return as_written(node)
    known = ", ".join(f"`{word}`" for word in field.words)
    try:
        value = evaluate(node, names.lookup)
    except JobError as error:
        if error.diagnostics and isinstance(node, Identifier | Number):
            raise _unknown_word(node, field, known) from None
        raise
    if not isinstance(value, str):
        if as_written(node) in WORDS:
            raise _unknown_word(node, field, known)
        raise _wrong_kind(node, field, f"one of {known}", kind_of(value))
    if value not in field.words:
        raise _unknown_word(node, field, known)
    return value


def _unknown_word(node: Node, field: SettingType, known: str) -> JobError:
    text = as_written(node)
    message = f"`{field.key}` does not know `{text}`"
    word, words = text.strip('"'), [_spelt(each) for each in field.words]
    if isinstance(node, Identifier):
        word = word.rpartition(".")[2]
    whole = next((each for each in field.words if word.startswith(f"{each}.")), None)
    spellings = WORDS if whole is None else {word: _spelt(whole)}
    help, fix = suggested(word, node.span, words, spellings)
    return wrong(codes.UNKNOWN_WORD, message, node.span, help or f"it is one of {known}", fix=fix)


def _spelt(word: str) -> str:
    """A word as it stands in a file: a version in quotes."""
    return word if word.replace("-", "_").isidentifier() else f'"{word}"'


def _string(node: Node, field: SettingType, names: Names) -> str:
    try:
        value = evaluate(node, names.lookup)
    except JobError as error:
        if error.diagnostics and (text := in_quotes(node)):
            help, fix = f"text stands in double quotes: `{text}`", replaced(node.span, text)
            message = f"unknown name `{as_written(node)}`"
            raise wrong(codes.UNKNOWN_NAME, message, node.span, help, fix=fix) from None
        raise
    if not isinstance(value, str):
        raise _wrong_kind(node, field, "text", kind_of(value))
    return value


def _choices(node: Node, field: SettingType, names: Names) -> tuple[int, ...]:
    found = _chosen(node, field, names)
    least, most = found[0], found[-1]
    for wrongly, bound, word in (
        (least < 1, least, "at least 1"),
        (most > MAX_CHOICE, most, f"at most {MAX_CHOICE:,}"),
    ):
        if wrongly:
            message = f"`{field.key}` is {plain(bound)}, must be {word}"
            help, fix = as_range(node)
            raise wrong(codes.OUT_OF_BOUNDS, message, node.span, help, fix=fix)
    return found


def _chosen(node: Node, field: SettingType, names: Names) -> tuple[int, ...]:
    """The values to choose from, in ascending order."""
    value = _evaluated(
        node, names, lambda: f"`{field.key}` takes a number, a range `1..8` or a set `{{4, 8}}`"
    )
    match value:
        case Measure():
            return (whole(fitting(value, node, field), node, field),)
        case Interval(low, high):
            bounds = [whole(fitting(bound, node, field), node, field) for bound in (low, high)]
            if bounds[1] - bounds[0] >= MAX_CHOICES:
                count = f"{bounds[1] - bounds[0] + 1:,} values"
                message = f"`{as_written(node)}` holds {count}, at most {MAX_CHOICES:,} fit"
                help = "name the values to choose from: `{16, 32, 64}`"
                raise wrong(codes.BAD_RANGE, message, node.span, help)
            return tuple(range(bounds[0], bounds[1] + 1))
        case Members(items) if all(isinstance(item, Measure) for item in items):
            return _distinct([item for item in items if isinstance(item, Measure)], node, field)
    text = out_of_quotes(value, node, field)
    raise _wrong_kind(node, field, "a number, a range or a set of numbers", kind_of(value), text)


def _distinct(items: list[Measure], node: Node, field: SettingType) -> tuple[int, ...]:
    if not items:
        raise wrong(codes.BAD_RANGE, f"`{field.key}` has no value to choose from", node.span)
    values = sorted(whole(fitting(item, node, field), node, field) for item in items)
    for value, following in zip(values, values[1:], strict=False):
        if value == following:
            message = f"{plain(value)} is in the set twice"
            raise wrong(codes.DUPLICATE, message, node.span)
    return tuple(values)


def _strings(node: Node, field: SettingType, names: Names) -> tuple[str, ...]:
    if isinstance(node, Text):
        text = f"[{node.span.text}]"
        message, fix = f"`{field.key}` takes a list of texts", replaced(node.span, text)
        raise wrong(codes.WRONG_KIND, message, node.span, f"write `{text}`", fix=fix)
    if not isinstance(node, Collection):
        value = evaluate(node, names.lookup)
        if isinstance(value, Members) and all(isinstance(item, str) for item in value.items):
            return tuple(str(item) for item in value.items)
        raise _wrong_kind(node, field, "a list of texts", kind_of(value))
    return tuple(_string(item, field, names) for item in node.items)


Entry = str | int | float | bool


def _table(node: Node, field: SettingType, names: Names) -> dict[str, Entry]:
    if isinstance(node, Collection) and not node.items:
        return {}
    if not isinstance(node, Map):
        text = as_table(node)
        help = f"write `{field.key} = {text or '{ name = value; ... }'}`"
        message, fix = f"`{field.key}` takes a table of settings", text and replaced(
            node.span, text
        )
        raise wrong(codes.WRONG_KIND, message, node.span, help, fix=fix or None)
    found: dict[str, Entry] = {}
    for setting in node.settings:
        key = setting.key.name
        if key in found:
            raise wrong(codes.DUPLICATE, f"`{key}` is given twice", setting.key.span)
        found[key] = _entry(setting, field, names)
    return found


def _entry(setting: Setting, field: SettingType, names: Names) -> Entry:
    try:
        value = evaluate(setting.value, names.lookup)
    except JobError as error:
        if not error.diagnostics or in_quotes(setting.value) is None:
            raise
        return _string(setting.value, field, names)
    match value:
        case bool() | str():
            return value
        case Measure(float() as number) if value.dimension.bare and field.fractions:
            return number
        case Measure(number) if value.dimension.bare:
            return whole(Measure(number), setting.value, field)
    wanted = "a number" if field.fractions else "a whole number"
    message = f"`{setting.key.name}` is text, {wanted}, true or false, but this is {kind_of(value)}"
    raise wrong(codes.WRONG_KIND, message, setting.value.span)


SYNTHETIC = "synthetic"


def _data(node: Node, field: SettingType, names: Names) -> Data:
    """`synthetic`, one source, a list of equally long-lasting ones, or a table of sources and weights."""
    match node:
        case Identifier(name=name) if name == SYNTHETIC:
            return Data()
        case Map():
            return _blend(node, field, names)
        case Collection() if not node.items:
            message = f"`{field.key}` names no source"
            raise wrong(codes.WRONG_KIND, message, node.span, f"`{field.key} = {SYNTHETIC}`")
        case Collection() if (text := as_weights(node)) is not None:
            raise _wrong_kind(node, field, "weights in a table", "a list", text)
        case Collection():
            return Data(parts=tuple((text, 1.0) for text in _strings(node, field, names)))
    try:
        return Data(parts=((_string(node, field, names), 1.0),))
    except JobError as error:
        if isinstance(node, Identifier) and error.diagnostics:
            message = f"`{field.key}` does not know `{node.name}`"
            text = f'"{node.name}"'
            help, fix = f"`{SYNTHETIC}`, or a path in double quotes: `{text}`", replaced(
                node.span, text
            )
            raise wrong(codes.UNKNOWN_WORD, message, node.span, help, fix=fix) from None
        raise


def _blend(node: Map, field: SettingType, names: Names) -> Data:
    parts: dict[str, float] = {}
    for setting in node.settings:
        key = setting.key.name
        weight = evaluate(setting.value, names.lookup)
        if not (isinstance(weight, Measure) and weight.dimension.bare and weight.value > 0):
            message = f"the weight of `{key}` must be a number above 0"
            raise wrong(codes.WRONG_KIND, message, setting.value.span)
        if key in parts:
            raise wrong(codes.DUPLICATE, f"`{key}` is given twice", setting.key.span)
        parts[key] = float(weight.value)
    return Data(parts=tuple(parts.items()))


_READERS: dict[str, Callable[[Node, SettingType, Names], object]] = {
    "number": _number,
    "whole": _whole,
    "truth": _truth,
    "word": _word,
    "text": _string,
    "choices": _choices,
    "texts": _strings,
    "table": _table,
    "data": _data,
}

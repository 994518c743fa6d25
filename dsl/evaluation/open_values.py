"""The expression of a setting -> its value, or a set of values among which the search decides."""

from dataclasses import dataclass

from .. import codes
from ..open_settings import Word
from ..report import wrong
from ..schema import SettingType
from ..syntax.tree import Collection, Node
from .fields import read
from .scope import Names


@dataclass(frozen=True)
class Several:
    """Words or truths in the order of preference, at least two."""

    words: tuple[Word, ...]


def read_or_open(node: Node, field: SettingType, names: Names) -> object:
    """As `fields.read`; `Several` for a set of values, which is an error where one value is taken."""
    if field.kind not in ("word", "truth") or not isinstance(node, Collection):
        return read(node, field, names)
    found = tuple(_word(item, field, names) for item in node.items)
    if not field.open:
        message = f"`{field.key}` takes one value: the search does not choose among several"
        raise wrong(codes.OPEN_SETTINGS, message, node.span, "name one of them")
    if not found:
        raise wrong(codes.BAD_RANGE, f"`{field.key}` has no value to choose from", node.span)
    for position, word in enumerate(found):
        if word in found[:position]:
            text = node.items[position].span.text
            message = f"{text} is in the set twice"
            raise wrong(codes.DUPLICATE, message, node.items[position].span)
    return Several(found) if len(found) > 1 else found[0]


def _word(node: Node, field: SettingType, names: Names) -> Word:
    value = read(node, field, names)
    return value if isinstance(value, bool) else str(value)

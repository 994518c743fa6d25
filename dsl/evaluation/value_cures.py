"""A value of another kind than its setting takes -> how it is written, where what was meant is known."""

import re

from ..diagnostics import Fix, JobError, Source, Span, replaced
from ..fixes import applied
from ..schema import SettingType
from ..syntax.quoting import quoted
from ..syntax.tree import Collection, Identifier, Node, Number, Text
from ..units import Measure, duration, example, fits, measure
from .spellings import NOTHING

#: Help and cure.
Cure = tuple[str | None, Fix | None]
#: What stands for a text without its quotes: `gpu-large`, `meta-llama/Llama-3.1-8B`, `/data/c4`.
_BARE_TEXT = re.compile(r"[A-Za-z_~./][\w./:@~+-]*")


def as_written(node: Node) -> str:
    """The text of an expression, on one line."""
    return " ".join(node.span.text.split())


def with_unit(value: Measure, node: Node, field: SettingType) -> Cure:
    """A number as it was meant: `G` for a B(illion), per second or not, in `$/h`, in sbatch's minutes."""
    wanted, given, text = str(field.dimension), str(value.dimension), as_written(node)
    if field.dimension.without_counts().bare and re.fullmatch(r"[0-9._]+ ?B", text):
        billions = f"{text[:-1].rstrip()}G"
        return f"B is bytes; for 10^9 write `{billions}`", replaced(node.span, billions)
    if not isinstance(node, Number):
        return _example(field), None
    if wanted == f"{given}/s":
        return _written(f"{text}/s", node)
    if given == f"{wanted}/s" and text.endswith("/s"):
        return _written(text.removesuffix("/s"), node)
    if wanted == "$/s" and value.dimension.bare:
        return _written(f"{text} $/h", node)
    if wanted == "s" and field.optional and text.isdigit():
        minutes = f"{text} min"
        help = f"write it like `48 h`; sbatch reads a bare number as minutes: `{minutes}`"
        return help, replaced(node.span, minutes, safe=False)
    return _example(field), None


def _written(text: str, node: Node) -> Cure:
    return f"write `{text}`", replaced(node.span, text)


def _example(field: SettingType) -> str | None:
    if str(field.dimension) == "s" and isinstance(field.default, float) and field.default < 1:
        return "write it like `5 us`"
    return example(field.dimension)


def out_of_quotes(value: object, node: Node, field: SettingType) -> str | None:
    """A number that stands in quotes, `"8192"` or `"2.5 $/h"`, without them; a time in a unit."""
    text = value.strip() if isinstance(value, str) else ""
    if str(field.dimension) == "s" and (time := duration(text)):
        return time
    if not re.match(r"\d", text):
        return None
    source = Source("", text)
    try:
        found = measure(text, Span(source, 0, len(text)))
    except JobError as error:
        cured, count = applied(source, [each.fix for each in error.diagnostics if each.fix])
        return out_of_quotes(cured, node, field) if count and cured != text else None
    return text if fits(found.dimension, field.dimension) or found.dimension.bare else None


def in_quotes(node: Node) -> str | None:
    """A text that stands without its quotes, with them."""
    text = as_written(node)
    return f'"{text}"' if _BARE_TEXT.fullmatch(text) else None


def as_range(node: Node) -> Cure:
    """The cure of `4-8`, a difference, where 4 to 8 was meant."""
    ends = re.fullmatch(r"(\d+) ?- ?(\d+)", as_written(node))
    if not ends:
        return None, None
    text = f"{ends[1]}..{ends[2]}"
    return f"a range is written `{text}`", replaced(node.span, text)


def nothing(node: Node, field: SettingType) -> Cure:
    """The cure of `null`: `none` where a setting takes it, else the zero that it takes."""
    if not isinstance(node, Identifier) or node.name.lower() not in NOTHING:
        return None, None
    if field.optional:
        return "write `none`", replaced(node.span, "none")
    if field.kind not in ("number", "whole") or not isinstance(field.default, int | float):
        return "leave the line out", None
    text = "0" if dict(field.limits).get("ge") == 0 else f"{field.default:g}"
    help = f"leave the line out for its default, or write `{text}`"
    return help, replaced(node.span, text, safe=False)


_OPTION = re.compile(r"-{0,2}([A-Za-z_][\w-]*)(?:[= ](.*))?")


def as_table(node: Node) -> str | None:
    """`["A=b"]` and `"--switch"`, as shells take variables and options, as a table."""
    items = node.items if isinstance(node, Collection) else (node,)
    found = [_OPTION.fullmatch(each.value) for each in items if isinstance(each, Text)]
    if len(found) < len(items) or not all(found):
        return None
    pairs = [(each[1], each[2]) for each in found if each]
    entries = (f'"{name}" = {"true" if value is None else quoted(value)}' for name, value in pairs)
    return f"{{ {'; '.join(entries)} }}"


def as_weights(node: Collection) -> str | None:
    """`[0.3, "/data/a", 0.7, "/data/b"]`, as Megatron-LM takes sources, as a table."""
    weights, texts = node.items[::2], node.items[1::2]
    pairs = len(weights) == len(texts) and all(isinstance(each, Text) for each in texts)
    if not pairs or not all(isinstance(each, Number) for each in weights):
        return None
    entries = (f"{t.span.text} = {w.span.text}" for w, t in zip(weights, texts, strict=True))
    return f"{{ {'; '.join(entries)} }}"

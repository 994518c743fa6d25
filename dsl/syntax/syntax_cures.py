"""Where a parser stopped -> what was meant, by habits of YAML, TOML, C and SLURM, as help and edits."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..diagnostics import Fix
from ..units import duration
from .foreign_words import FOREIGN_WORDS
from .stop import BLOCK, END, Cure, Stop


def cure(stop: Stop) -> Cure:
    """The cure by the first of the habits below that fits."""
    return next(filter(None, (each(stop) for each in _CURES)), None)


def _character(stop: Stop) -> Cure:
    """One character that the language writes in another way."""
    for wrong, right in (("&&", "and"), ("&", "and"), ("||", "or"), ("|", "or"), ("^", "**")):
        if stop.text.startswith(wrong, stop.at):
            padded = right if right == "**" else f" {right} "
            place = re.compile(rf"[ \t]*{re.escape(wrong)}[ \t]*").match(stop.text, _blank(stop))
            if place:
                return f"write `{right}`", stop.fix(place.start(), place.end(), padded)
    if stop.text.startswith("!", stop.at) and not stop.text.startswith("!=", stop.at):
        return "write `not`", stop.fix(stop.at, stop.at + 1, "not ")
    return None


def _blank(stop: Stop) -> int:
    """Where the blanks before the place begin."""
    return len(stop.text[: stop.at].rstrip(" \t"))


def _single_quotes(stop: Stop) -> Cure:
    text = re.compile(r"'([^'\"\n]*)'").match(stop.text, stop.at)
    if stop.found != "'" or text is None:
        return None
    return "text stands in double quotes", stop.fix(text.start(), text.end(), f'"{text[1]}"')


def _dollars(stop: Stop) -> Cure:
    price = stop.around(r"\$[ \t]*([0-9][\d._,]*)(?:[ \t]*([kKMGT])\b)?((?:/[A-Za-z]+)?)(?!\w)")
    if price is None:
        return None
    text = f"{price[1].replace(',', '_')} {price[2] or ''}${price[3]}"
    return f"the unit follows the number: `{text}`", stop.fix(price.start(), price.end(), text)


def _clock(stop: Stop) -> Cure:
    clock, parts = r"(?:\d+-)?\d+:\d\d(?::\d\d)?(?![\w:])", r"\d+ ?[a-z]+(?: \d+ ?[a-z]+)+"
    time = stop.around(rf"(?<=[=\s])(?:{clock}|{parts})")
    text = duration(time[0]) if time and "=" in stop.text[stop.line : time.start()] else None
    if time is None or text is None:
        return None
    return f"a time has a unit: `{text}`", stop.fix(time.start(), time.end(), text)


def _thousands(stop: Stop) -> Cure:
    number = stop.around(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\w.])")
    if number is None:
        return None
    text = number[0].replace(",", "_")
    return f"digits are grouped with `_`: `{text}`", stop.fix(number.start(), number.end(), text)


def _point(stop: Stop) -> Cure:
    number = stop.around(r"(?<![\w.])\.\d+")
    if number is None:
        return None
    text = f"0{number[0]}"
    return f"write `{text}`", stop.fix(number.start(), number.end(), text)


def _foreign_comment(stop: Stop) -> Cure:
    """`// words` and `/* words */`: a comment of C, on a line of its own or after a value."""
    comment = stop.around(rf"/\*(.{{0,200}}?)\*/{END}|//[ \t]*(?=[A-Za-z])(.*)$")
    if comment is None or '"' in stop.text[comment.start() : comment.end()]:
        return None
    words = (comment[1] or comment[2] or "").strip()
    return "a comment begins with `#`", stop.fix(comment.start(), comment.end(), f"# {words}")


def _section(stop: Stop) -> Cure:
    """`[train]` and the settings below it, as in TOML."""
    head = re.compile(rf"\[({BLOCK})([ \t.]+\w+)?\][ \t]*$", re.MULTILINE).match(
        stop.text, stop.line
    )
    if head is None:
        return None
    following = re.compile(r"^\[", re.MULTILINE).search(stop.text, head.end())
    end = len(stop.text[: following.start() if following else None].rstrip())
    name = f" {head[2].strip(' .')}" if head[2] else ""
    return _braced(stop, head.start(), head.end(), f"{head[1]}{name} {{", end)


def _indented(stop: Stop) -> Cure:
    """A block whose settings are indented below its head, as in YAML or Python."""
    pattern = rf"[ \t]*+({BLOCK}(?:[^=:{{}}\n#]*[^=:{{}}\n# \t])?)[ \t]*+:?[ \t]*+(?=#|$)"
    head = re.compile(pattern, re.MULTILINE).match(stop.text, stop.line)
    if head is None:
        return None
    if brace := re.compile(r"[ \t]*+:?\s*+\{").match(stop.text, head.end(1)):
        return "`{` stands on the line of the block", stop.fix(head.end(1), brace.end(), " {")
    body = re.compile(r"(?:[^\n]*\n)((?:[ \t][^\n]*\n?|\n)*)").match(stop.text, head.end())
    end = len(stop.text[: body.end()].rstrip()) if body and body[1].strip() else head.end()
    if end > head.end():
        return _braced(stop, head.end(1), head.end(), " {", end)
    return "a block has braces, also without settings", stop.fix(head.end(1), head.end(), " { }")


def _braced(stop: Stop, start: int, head: int, opening: str, end: int) -> Cure:
    edits = stop.edit(start, head, opening), stop.edit(end, end, "\n}")
    return "the settings of a block stand in braces: `train { ... }`", Fix(edits)


def _equals_block(stop: Stop) -> Cure:
    """`model = NAME {`, `cluster c = NAME {`, `train: {` and `train = {`."""
    head = stop.around(rf"(?<![\w.])({BLOCK})([ \t]+\w+)?[ \t]*[:=][ \t]*+([\w.\"/-]*+)[ \t]*\{{")
    if head is None:
        return None
    kind, name = f"{head[1]}{head[2] or ''}", head[3]
    word = f" {name.strip(chr(34))}" if kind in ("target", "launch") else f" from {name}"
    text = f"{kind}{word if name else ''} {{"
    return f"write `{text}`", stop.fix(head.start(), head.end(), text)


def _colon(stop: Stop) -> Cure:
    key = re.fullmatch(r"[ \t]*\"?([A-Za-z_][\w.]*)\"?[ \t]*", stop.before)
    if stop.found != ":" or key is None:
        return None
    start = stop.at - len(stop.before.lstrip(" \t"))
    after = re.compile(r":[ \t]*(?=[^\s#])").match(stop.text, stop.at)
    if after is None:
        return "a setting has `=` and a value on its line", None
    return "a setting has `=`", stop.fix(start, after.end(), f"{key[1]} = ")


def _comma(stop: Stop) -> Cure:
    if stop.found != ",":
        return None
    start = _blank(stop)
    clause = re.match(r"[ \t]*(require|forbid|prefer|maximize|minimize)\b", stop.before)
    if clause and (after := re.compile(r",[ \t]*(?=[\w(])").match(stop.text, stop.at)):
        text = f"; {clause[1]} "
        return f"each has its `{clause[1]}`", stop.fix(start, after.end(), text)
    if re.compile(r"[ \t]*(#|\n|}|\Z)").match(stop.text, stop.at + 1):
        return "settings need no comma between them", stop.fix(start, stop.at + 1, "")
    return "settings on one line need `;` between them", stop.fix(start, stop.at + 1, ";")


def _name_in_quotes(stop: Stop) -> Cure:
    plain = re.compile(r"[ \t]*[,(]").match(stop.text, stop.at)
    name = (
        None
        if plain
        else stop.around(r"(?<=from)[ \t]+([A-Za-z][\w./:-]*)|(?<=import)[ \t]+([\w./~-]+)")
    )
    if name is None or not re.search(r"\b(from|import)$", stop.text[stop.line : name.start()]):
        return None
    own = (name[1] or "").replace("-", "_")
    if own != name[1] and re.search(
        rf"^[ \t]*{BLOCK}[ \t]+(?:{re.escape(name[1] or own)}|{own})\b",
        stop.source.text,
        re.MULTILINE,
    ):
        return f"a name has `_` for `-`: `{own}`", stop.fix(name.start(1), name.end(1), own)
    text = f'"{name[1] or name[2]}"'
    return f"a name of other characters stands in quotes: `{text}`", stop.fix(
        name.start(1) if name[1] else name.start(2), name.end(), text
    )


def _text_in_quotes(stop: Stop) -> Cure:
    value = stop.around(r"(?<==)[ \t]*([^\s;{}\"'#,=()*+<>]*[/~.:\\@-][^\s;{}\"'#,]*)" + END)
    if value is None or not re.search(r"[A-Za-z]|\d\.\d+\.\d", value[1]):
        return None
    text = f'"{value[1]}"'
    return f"text stands in double quotes: `{text}`", stop.fix(value.start(1), value.end(1), text)


def _comparison(stop: Stop) -> Cure:
    if stop.found == "=" and re.fullmatch(r"[ \t]*\w+[ \t]*=", stop.before):
        return "a setting has one `=`", stop.fix(stop.at, stop.at + 1, "")
    if stop.found == "=" and re.match(r"[ \t]*(require|forbid|prefer)\b", stop.before):
        return "`=` gives a setting its value; compare with `==`", stop.fix(
            stop.at, stop.at + 1, "=="
        )
    return None


#: In this order: what looks at more characters first.
_CURES: tuple[Callable[[Stop], Cure], ...] = (
    *FOREIGN_WORDS,
    _section,
    _equals_block,
    _indented,
    _clock,
    _thousands,
    _dollars,
    _name_in_quotes,
    _foreign_comment,
    _text_in_quotes,
    _point,
    _colon,
    _comma,
    _single_quotes,
    _comparison,
    _character,
)

"""Where a parser stopped -> what was meant, by look-alike characters and the words of other languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from ..diagnostics import Fix
from .absent_features import ABSENT_FEATURES
from .foreign_blocks import FOREIGN_BLOCKS
from .foreign_goals import FOREIGN_GOALS
from .stop import BLOCK, END, Cure, Stop

#: Characters of word processors and of mathematics -> those of a keyboard. Others are told by Unicode itself.
_KEYBOARD = {
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"', "\u2018": "'", "\u2019": "'",
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2264": "<=",
    "\u2265": ">=", "\u2260": "!=", "\u2208": " in ", "\u2026": "..", "\u200b": "", "\u2060": "",
}  # fmt: skip
_OPERATORS = {"<>": "!=", "=<": "<=", "=>": ">=", "===": "=="}


def _typed(character: str) -> str | None:
    """The key of a keyboard that looks like a character; None for one that has no such likeness."""
    if character in _KEYBOARD:
        return _KEYBOARD[character]
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain != character and plain.isascii() else None


def _look_alike(stop: Stop) -> Cure:
    """All such characters from here to the next quote or the end of the line."""
    if not stop.found or _typed(stop.found) is None:
        return None
    stretch = re.split(r'["\n]', stop.text[stop.at :], maxsplit=1)[0]
    typed = [(stop.at + place, _typed(each)) for place, each in enumerate(stretch)]
    edits = [stop.edit(at, at + 1, text) for at, text in typed if text is not None]
    shown = f"`{_typed(stop.found)}`" if (_typed(stop.found) or "").strip() else "a blank"
    return f"write {shown}", Fix(tuple(edits))


def _operator(stop: Stop) -> Cure:
    """`:=` gives a value in other languages, and `<>`, `=<`, `=>` and `===` compare."""
    if stop.text.startswith(":=", stop.at):
        return "a setting has `=`", stop.fix(stop.at, stop.at + 2, "=")
    found = stop.around(r"<>|=<|=>|===")
    if found is None:
        return None
    implied = re.match(r"[ \t]*(?:require|prefer)[ \t]++(.*[<>=!].*)", stop.before)
    if found[0] == "=>" and implied is not None:
        start = stop.at - len(stop.before) + implied.start(1)
        text = f"not ({implied[1].removesuffix('=').rstrip()}) or"
        return f"what follows from what is `{text} ...`", stop.fix(start, found.end(), text)
    gives = re.fullmatch(r"[ \t]*\w+[ \t]*=?>?", stop.before)
    right = "=" if gives and found[0] == "=>" else _OPERATORS[found[0]]
    return f"write `{right}`", stop.fix(found.start(), found.end(), right)


def _parentheses(stop: Stop) -> Cure:
    """`in (2, 4)` and `= (2, 4)`, as in Python."""
    values = stop.around(r"(?<=[ =])\(([^(),\n]*,[^()\n]*)\)")
    if values is None or not re.search(r"(\bin[ \t]+|=[ \t]*)$", stop.text[: values.start()]):
        return None
    text = f"{{{values[1]}}}"
    return f"a set stands in braces: `{text}`", stop.fix(values.start(), values.end(), text)


def _open_range(stop: Stop) -> Cure:
    """`nodes = ..8`, `nodes <= 8` and `nodes = 4..16..4`."""
    upto = stop.around(r"=[ \t]*(\.\.)[ \t]*\d")
    if upto is not None and stop.found == "..":
        return "a range has both its ends", stop.fix(upto.start(1), upto.end(1), "1..")
    most = stop.around(r"(?:^|(?<=[{;]))[ \t]*\w+[ \t]*(<=[ \t]*(\d+)|>=?)")
    if most is not None and not stop.before.strip().startswith(("require", "forbid", "prefer")):
        fix = stop.fix(most.start(1), most.end(1), f"= 1..{most[2]}") if most[2] else None
        return "a range has both its ends: `= 1..8`", fix
    steps = stop.around(r"(\d{1,4})\.\.(\d{1,4})\.\.(\d{1,4})\b")
    if steps is None or not int(steps[3]):
        return None
    values = range(int(steps[1]), int(steps[2]) + 1, int(steps[3]))
    if not 0 < len(values) <= 20:
        return "a range has no step: name the values, `{4, 8, 16}`", None
    text = f"{{{', '.join(map(str, values))}}}"
    return f"a range has no step: `{text}`", stop.fix(steps.start(), steps.end(), text)


def _slice(stop: Stop) -> Cure:
    """`nodes = 1:8`, as in a slice of Python."""
    ends = stop.around(
        r"\b(?:nodes|(?=\w*gpus)\w+|tp|pp|cp|ep|dp)[ \t]*(?:==?|in)[ \t]*((\d+):(\d+))(?![\d:])"
    )
    if ends is None:
        return None
    text = f"{ends[2]}..{ends[3]}"
    return f"a range is written `{text}`", stop.fix(ends.start(1), ends.end(1), text)


def _range(stop: Stop) -> Cure:
    words = r"\bbetween[ \t]+(\d+)[ \t]+and[ \t]+(\d+)|(?<!\d)(\d+)[ \t]*(?:\.\.\.|to\b)[ \t]*(\d+)"
    ends = stop.around(words)
    if ends is None:
        return None
    text = f"in {ends[1]}..{ends[2]}" if ends[1] else f"{ends[3]}..{ends[4]}"
    return f"a range is written `{text}`", stop.fix(ends.start(), ends.end(), text)


def _times(stop: Stop) -> Cure:
    product = stop.around(r"(?<![\w.])(\d+)[ \t]*x[ \t]*(\d+)(?![\w.])")
    if product is None:
        return None
    text = f"{product[1]} * {product[2]}"
    return f"write `{text}`", stop.fix(product.start(), product.end(), text)


def _quoted_key(stop: Stop) -> Cure:
    """`"seq_len": 8192,` and `"seq_len" = 8192`, as in JSON."""
    key = re.compile(r'"([A-Za-z_][\w.]*)"[ \t]*[:=](?!=)[ \t]*').match(stop.text, stop.at)
    if key is None or stop.before.strip():
        return None
    edits = [stop.edit(key.start(), key.end(), f"{key[1]} = ")]
    if comma := re.compile(r"[^\n{}\[\]]*?(,)[ \t]*$", re.MULTILINE).match(stop.text, key.end()):
        edits.append(stop.edit(comma.start(1), comma.end(1), ""))
    return "the name of a setting has no quotes", Fix(tuple(edits))


def _declaration(stop: Stop) -> Cure:
    """`const n = 2`, `var n = 2` and `let n: 2`."""
    keyword = r"(let(?=[^=\n]*:)|const|var|val|local|define)"
    head = re.compile(rf"[ \t]*{keyword}[ \t]+([A-Za-z_]\w*)[ \t]*(?::[ \t]*\w+[ \t]*=|[:=])[ \t]*")
    found = head.match(stop.text, stop.line)
    if found is None or not stop.line <= stop.at <= found.end():
        return None
    text = f"let {found[2]} = "
    return f"a constant is `{text}...`", stop.fix(found.start(1), found.end(), text)


def _dashes(stop: Stop) -> Cure:
    """`-- words`, a comment of SQL and Lua, `--mem = 0`, an option, and `mail-type = "END"`."""
    at_start = stop.found == "-" and not stop.before.strip()
    comment = re.compile(r"--[ \t]+(?=[A-Za-z])").match(stop.text, stop.at)
    if at_start and comment:
        return "a comment begins with `#`", stop.fix(comment.start(), comment.end(), "# ")
    named = r"((?:--)?([A-Za-z]\w*(?:-\w+)*)[ \t]*=)(?!=)"
    name = stop.around(rf"(?:^|(?<=[{{;]))[ \t]*(?:let[ \t]+)?{named}")
    if name is None or "-" not in name[1]:
        return None
    text = f"{name[2].replace('-', '_')} ="
    return "a name has `_` for `-`", stop.fix(name.start(1), name.end(1), text)


def _name_of_words(stop: Stop) -> Cure:
    """`gpu = A100 80GB`."""
    value = stop.around(rf"\bgpu[ \t]*=[ \t]*([A-Za-z][\w.-]*(?:[ \t]+[\w.-]+)+){END}")
    if value is None:
        return None
    text = f'"{value[1]}"'
    return f"such a name stands in quotes: `{text}`", stop.fix(value.start(1), value.end(1), text)


def _list_of_paths(stop: Stop) -> Cure:
    """`[/data/a, /data/b]`."""
    values = stop.around(r"\[([^\[\]{}()\n=]*)\]")
    items = [item.strip() for item in values[1].split(",")] if values else []
    bare = [item for item in items if not item.startswith('"')]
    if values is None or not any(re.search(r"[/~.:\\@-]", item) for item in bare):
        return None
    if not all(re.fullmatch(r"(?=[^A-Za-z]*[A-Za-z])[^\s\"'#*+]+", item) for item in bare):
        return None
    text = ", ".join(f'"{item}"' if item in bare else item for item in items)
    return "text stands in double quotes", stop.fix(values.start(1), values.end(1), text)


def _word_for_operator(stop: Stop) -> Cure:
    """`tp is 8`, `tp equals 8`, `pp mod 2`, `tp is not 8`."""
    if stop.found in ("AND", "OR", "NOT", "IN"):
        small = stop.found.lower()
        return f"write `{small}`", stop.fix(stop.at, stop.at + len(small), small)
    word = stop.around(r"(?<=[\w)] )(is[ ]+not|isnt|is|equals|eq|mod)(?=[ ]+[\w(])")
    if word is None or word.start() > stop.at:
        return None
    right = {"is": "==", "equals": "==", "eq": "==", "mod": "%"}.get(word[1], "!=")
    return f"write `{right}`", stop.fix(word.start(), word.end(), right)


def _bare_set(stop: Stop) -> Cure:
    """`2, 4, 8` and `{2 4 8}`, and a comma before decimals."""
    decimals = stop.around(r"(?<![\w.,])(0,\d+|\d+,\d\d?(?=[ \t]*\$))(?![\w,])")
    if decimals is not None:
        text = decimals[0].replace(",", ".")
        return f"decimals follow a point: `{text}`", stop.fix(
            decimals.start(), decimals.end(), text
        )
    values = stop.around(rf"(?<==)[ \t]*(\d+(?:,[ \t]+\d+)+|\d+,\d{{1,2}}(?:,\d{{1,2}})*){END}")
    blanks = stop.around(r"\{[ \t]*(\d+(?:[ \t]+\d+)+)[ \t]*\}")
    found = values or blanks
    if found is None:
        return None
    text = f"{{{', '.join(re.split(r'[ ,]+', found[1]))}}}"
    start = found.start(1) if values else found.start()
    return f"a set is `{text}`", stop.fix(start, found.end(1) if values else found.end(), text)


def _let_inside(stop: Stop) -> Cure:
    """A constant in a block goes before it."""
    line = re.compile(r"[ \t]*(let[ \t]+\w+[ \t]*=[^\n;{}]*)\n").match(stop.text, stop.line)
    heads = list(re.finditer(rf"^{BLOCK}[^\n]*\{{[^\n}}]*$", stop.text[: stop.line], re.MULTILINE))
    if line is None or stop.found != "=" or not heads:
        return None
    top = heads[-1].start()
    edits = (stop.edit(top, top, f"{line[1].rstrip()}\n"), stop.edit(line.start(), line.end(), ""))
    return "`let` stands outside of the blocks", Fix(edits)


def _continued(stop: Stop) -> Cure:
    if stop.found != "\\":
        return None
    end = re.compile(r"[ \t]*\\[ \t]*\n[ \t]*").match(stop.text, len(stop.text[: stop.at].rstrip()))
    if end is None:
        return None
    return "a line continues only in parentheses", stop.fix(end.start(), end.end(), " ")


#: What looks at more characters first.
FOREIGN_WORDS: tuple[Callable[[Stop], Cure], ...] = (
    _look_alike,
    _continued,
    *ABSENT_FEATURES,
    *FOREIGN_GOALS,
    _open_range,
    _slice,
    _let_inside,
    _operator,
    _word_for_operator,
    _declaration,
    *FOREIGN_BLOCKS,
    _quoted_key,
    _parentheses,
    _range,
    _bare_set,
    _times,
    _list_of_paths,
    _name_of_words,
    _dashes,
)

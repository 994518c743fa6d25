"""One wrong edit of the options in a launch script, of whatever style: a value, a name, one less, one more.

An edit does not know whether the framework minds it: the framework is asked. `None` where the text has
nothing for it to change.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from benchmarks.lint.mutations.mutation import misspelt
from parc.backends.released_options import ReleasedOption

Table = Mapping[str, ReleasedOption]
Edit = Callable[[str, Table, random.Random], tuple[str, str] | None]
_OPTION = re.compile(r"(?<![\w$-])--[a-z][\w-]*(?![\w-])")
#: Words behind an option, up to what ends them: another option, a closing bracket or quote, a continuation.
_VALUES = re.compile(r"(?:[ =](?!--)[^\s()\"'\\#;]+)*")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?$")


def known(text: str, table: Table) -> list[re.Match[str]]:
    """Where the framework's own options stand in a text, launchers' options and comments left out."""
    lines = {match.start() for match in re.finditer(r"^ *#.*$", text, re.MULTILINE)}
    return [
        match
        for match in _OPTION.finditer(text)
        if match[0].replace("_", "-") in table
        and text.rfind("\n", 0, match.start()) + 1 not in lines
        and not text[: match.start()].rstrip().endswith(("echo", "if", "#"))
    ]


def value_changed(text: str, table: Table, chance: random.Random) -> tuple[str, str] | None:
    match = _drawn(text, table, chance)
    if match is None:
        return None
    option = table[match[0].replace("_", "-")]
    words = _VALUES.match(text, match.end())
    assert words is not None
    start, end = _value_span(text, words)
    old = text[start:end].strip()
    new = " true" if option.kind == "switch" else other_value(old, option, chance)
    if new is None or new == old:
        return None
    return text[:start] + new + text[end:], f"{match[0]} {old or '(none)'} -> {new}"


def _value_span(text: str, words: re.Match[str]) -> tuple[int, int]:
    """Of the first word, or of what its variable was set to."""
    first = re.match(r"[ =]+([^\s=]+)", words[0])
    if first is None:
        return words.start(), words.start()
    start, end = words.start() + first.start(1), words.start() + first.end(1)
    variable = _VARIABLE.match(text[start:end])
    if variable is not None:
        pattern = rf"^[ \t]*(?:export )?{variable[1]}=(?:\$\{{{variable[1]}:-)?([\w./+-]+)"
        setting = re.search(pattern, text, re.MULTILINE)
        if setting is not None:
            return setting.start(1), setting.end(1)
    return start, end


def other_value(old: str, option: ReleasedOption, chance: random.Random) -> str | None:
    if option.choices:
        others = [each for each in option.choices if each != old]
        return chance.choice([misspelt(option.choices[0], chance), *others])
    if option.kind in ("int", "float") and re.fullmatch(r"-?[\d.e-]+", old):
        return _other_number(float(old), option.kind, chance)
    if option.kind in ("int", "float"):
        return chance.choice(["auto", "7", "none"])
    return None


def _other_number(old: float, kind: str, chance: random.Random) -> str:
    if kind == "float":
        return chance.choice(["auto", "-1", "0", "1,0", f"{old * 1e4:g}", f"{old / 100:g}"])
    near = [int(old) + step for step in (1, -1, 2, -3)]
    others = [int(old) * 2, int(old) * 3, int(old) // 2, 3, 5, 6, 7, 12, 0, -1]
    words = ["auto", f"{int(old)}.5", "1e3", "12k"]
    return str(chance.choice([*near, *others, *chance.sample(words, 2)]))


def option_dropped(text: str, table: Table, chance: random.Random) -> tuple[str, str] | None:
    match = _drawn(text, table, chance)
    if match is None:
        return None
    words = _VALUES.match(text, match.end())
    assert words is not None
    rest = text[words.end() :]
    if rest.startswith("="):
        return None
    return text[: match.start()] + rest.removeprefix(" "), f"without {match[0]}{words[0]}"


def name_misspelt(text: str, table: Table, chance: random.Random) -> tuple[str, str] | None:
    match = _drawn(text, table, chance)
    if match is None:
        return None
    wrong = "--" + misspelt(match[0][2:], chance)
    if wrong.replace("_", "-") in table:
        return None
    return text[: match.start()] + wrong + text[match.end() :], f"{match[0]} as {wrong}"


def option_added(text: str, table: Table, chance: random.Random) -> tuple[str, str] | None:
    """An option of the release, with a value that its parser takes."""
    match = _drawn(text, table, chance)
    present = {each[0].replace("_", "-") for each in known(text, table)}
    option = table[chance.choice(sorted(set(table) - present))]
    value = _taken(option, chance)
    if match is None or value is None:
        return None
    words = f"{option.name} {value}".strip()
    return f"{text[: match.start()]}{words} {text[match.start() :]}", f"with {words}"


def _taken(option: ReleasedOption, chance: random.Random) -> str | None:
    if option.kind == "switch":
        return ""
    if option.count not in ("", "?"):
        return None
    if option.choices:
        return chance.choice(option.choices)
    if option.kind == "int":
        return str(chance.choice([1, 2, 3, 4, 8, 100]))
    if option.kind == "float":
        return str(chance.choice(["0.1", "0.5", "1.0", "1e-3"]))
    return None


def _drawn(text: str, table: Table, chance: random.Random) -> re.Match[str] | None:
    found = known(text, table)
    return chance.choice(found) if found else None


EDITS: tuple[Edit, ...] = (
    value_changed, value_changed, value_changed, option_dropped, option_dropped, name_misspelt,
    option_added, option_added, option_added,
)  # fmt: skip

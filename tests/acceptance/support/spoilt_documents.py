"""One wrong edit of a key in JSON, YAML or TOML: its value, its name, one key less, one more, broken text.

Like those of options, an edit does not know whether anybody minds it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.lint.mutations.mutation import misspelt
from parc.backends.released_options import ReleasedOption

Table = Mapping[str, ReleasedOption]
#: A scalar behind its key, in each language: `key`, `value`.
_PAIRS = {
    "json": re.compile(
        r"\"(?P<key>\w+)\"\s*:\s*(?P<value>\"[^\"\n]*\"|[\w.+-]+|\$\{\w+\})(?P<end>,?)"
    ),
    "yaml": re.compile(
        r"^ *(?:- )?(?P<key>\w+): +(?P<value>[^\s#][^\n#]*?)(?P<end> *)$", re.MULTILINE
    ),
    "toml": re.compile(
        r"^(?P<key>\w+) *= *(?P<value>[^\s#\[][^\n#]*?)(?P<end> *(?:#.*)?)$", re.MULTILINE
    ),
}


@dataclass(frozen=True)
class Document:
    """The text of one language in a file; `table` has the keys that may be added, as `section.key`."""

    path: str
    language: str
    text: str
    table: Table


Edit = Callable[[Document, random.Random], tuple[str, str] | None]


def _pair(document: Document, chance: random.Random) -> re.Match[str] | None:
    found = list(_PAIRS[document.language].finditer(document.text))
    return chance.choice(found) if found else None


def value_changed(document: Document, chance: random.Random) -> tuple[str, str] | None:
    match = _pair(document, chance)
    if match is None:
        return None
    new = _other(match["value"], document.language, chance)
    start, end = match.span("value")
    text = document.text[:start] + new + document.text[end:]
    return text, f"{match['key']}: {match['value']} -> {new}"


def _other(value: str, language: str, chance: random.Random) -> str:
    plain = value.strip("\"'")
    quote = '"' if value[:1] in "\"'" or language != "yaml" else ""
    if re.fullmatch(r"-?\d[\d_]*", value):
        number = int(value.replace("_", ""))
        near = [number + 1, number * 2, number * 3, number // 2, number - 1, 3, 5, 0, -1]
        return str(chance.choice([*near, *near, f'"{value}"', f"{quote}many{quote}", "true"]))
    if plain.lower() in ("true", "false"):
        other = "false" if plain.lower() == "true" else "true"
        return chance.choice(
            [other, other, f'"{plain}"', f"{quote}on{quote}", "3", "null"][
                : 5 if language == "toml" else 6
            ]
        )
    if re.fullmatch(r"-?[\d.]+(?:e[+-]?\d+)?", value):
        return chance.choice(["0", "-1", f'"{value}"', f"{quote}high{quote}", "17.5"])
    words = [f"{quote}{misspelt(plain, chance)}{quote}"] if re.search("[a-z]{2}", plain) else []
    return chance.choice([*words, *words, "7", "true", "2"])


def key_misspelt(document: Document, chance: random.Random) -> tuple[str, str] | None:
    match = _pair(document, chance)
    if match is None or len(match["key"]) < 3:
        return None
    wrong = misspelt(match["key"], chance)
    start, end = match.span("key")
    return document.text[:start] + wrong + document.text[end:], f"{match['key']} as {wrong}"


def key_dropped(document: Document, chance: random.Random) -> tuple[str, str] | None:
    match = _pair(document, chance)
    if match is None or (document.language == "json" and not match["end"]):
        return None
    end = match.end() + document.text[match.end() :].startswith("\n")
    return document.text[: match.start()] + document.text[end:], f"without {match['key']}"


def key_added(document: Document, chance: random.Random) -> tuple[str, str] | None:
    name = chance.choice(sorted(document.table))
    value = _taken(document.table[name], document.language, chance)
    section, _, key = name.rpartition(".")
    place = _inside(document, section)
    if value is None or place is None or re.search(rf"\b{key}\b", document.text):
        return None
    line = {
        "json": f'"{key}": {value}, ',
        "yaml": f"{key}: {value}\n",
        "toml": f"{key} = {value}\n",
    }
    start, indent = place
    text = document.text[:start] + indent + line[document.language] + document.text[start:]
    return text, f"with {name} = {value}"


def _inside(document: Document, section: str) -> tuple[int, str] | None:
    """Where a key of a section may be put, and its indent."""
    if document.language == "toml":
        found = re.search(rf"^\[{re.escape(section)}\].*\n", document.text, re.MULTILINE)
        return (found.end(), "") if found else None
    if document.language == "yaml":
        found = re.search(
            rf"^{section}:\s*\n( +)" if section else r"^()(?=\w)", document.text, re.M
        )
        if found is None:
            return None
        return (found.start(1), found[1]) if section else (0, "")
    if "." in section:
        return None
    found = re.search(rf"\"{section}\"\s*:\s*\{{" if section else r"\{", document.text)
    empty = found is None or document.text[found.end() :].lstrip().startswith("}")
    return None if found is None or empty else (found.end(), "")


def _taken(option: ReleasedOption, language: str, chance: random.Random) -> str | None:
    quoted = '"' if language != "yaml" else ""
    if option.choices:
        return f"{quoted}{chance.choice(option.choices)}{quoted}"
    if option.kind == "bool":
        return chance.choice(["true", "false"])
    if option.kind == "int":
        return str(chance.choice([1, 2, 3, 4, 8, 100]))
    if option.kind == "float":
        return str(chance.choice([0.1, 0.5, 1.0, 2.0]))
    return None


def broken(document: Document, chance: random.Random) -> tuple[str, str] | None:
    match = _pair(document, chance)
    if match is None:
        return None
    cut = {"json": '"', "yaml": "[", "toml": "="}[document.language]
    start = match.start("value") if document.language != "json" else match.start()
    return document.text[:start] + cut + document.text[start:], f"{cut} before {match['key']}"


EDITS: tuple[Edit, ...] = (
    value_changed, value_changed, value_changed, value_changed, key_misspelt, key_misspelt,
    key_dropped, key_added, key_added, broken,
)  # fmt: skip

"""No regular expression of the product takes time that grows faster than the text, whatever the text is.

Each is tried on texts that are made from itself; `make fuzz` tries all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import pytest

from parc.backends import extra
from parc.backends.huggingface import accelerate_values
from parc.backends.megatron import extra as megatron_extra
from parc.backends.torchtitan import extra as torchtitan_extra
from parc.lint.discovery import telling
from parc.lint.releases.forks import PLACES
from parc.lint.rules.launcher import launcher_option
from parc.lint.rules.options import option_value
from parc.lint.rules.slurm_directives import unknown_directive
from parc.reading.bash.words import glob_patterns
from tests.support.drawn_sizes import INPUTS
from tests.support.patterns.attacks import attacks
from tests.support.patterns.growth import grows, search_of
from tests.support.patterns.sites import ROOMS, Site, Unread, sites, terminals

#: Texts for each pattern: with fewer not all slow ones are found.
TEXTS = max(30, INPUTS // 4)

#: Patterns that stand in tables, by where they are used: the module, and the expression there.
TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    "backends/extra.py: pattern": lambda: [
        row[0] for row in (*extra.KINDS.values(), *megatron_extra.KINDS.values())
    ],
    "backends/torchtitan/extra.py: pattern": lambda: [
        row[0]
        for row in (*torchtitan_extra.FORMS.values(), *torchtitan_extra.NEWEST_FORMS.values())
    ],
    "lint/discovery.py: telling()": lambda: [telling()],
    "lint/releases/forks.py: pattern": lambda: [each.pattern for each in PLACES.values()],
    "lint/rules/launcher/launcher_option.py: pattern": launcher_option._COUNTS.values,
    "lint/rules/options/accelerate_value.py: number": accelerate_values.NUMBERS.values,
    "lint/rules/options/option_value.py: pattern": option_value.NUMBERS.values,
    "lint/rules/options/parsed_argument.py: NUMBERS[option.kind]": option_value.NUMBERS.values,
    "lint/rules/slurm_directives/unknown_directive.py: pattern": unknown_directive.NUMBERS.values,
    # A script's own patterns, translated: neither they nor their texts are long (`LONGEST`).
    "reading/bash/words/glob_patterns.py: chunks[0]": lambda: [
        glob_patterns.whole(each).pattern for each in ("*a*", "*a*b*a*", "a?[a-z]*", "**a**a**")
    ],
}
#: Where a script's own patterns are tried, on at most so many characters that no power of them is long.
SHORT = {
    "reading/bash/words/glob_patterns.py": 1000,
    "reading/bash/words/regular_expressions.py": 200,
}


@cache
def found() -> tuple[list[Site], list[Unread]]:
    every = [*sites(), *terminals()]
    return [each for each in every if isinstance(each, Site)], [
        each for each in every if isinstance(each, Unread)
    ]


def room_of(site: Site) -> str:
    return site.place.partition("/")[0]


def worst(pattern: str | bytes, flags: int, method: str, most: int) -> str | None:
    compiled = re.compile(pattern, flags)
    search = search_of(compiled, method)
    for attack in attacks(pattern, compiled.flags)[:most]:
        if (growth := grows(search, attack)) is not None:
            return f"{method} of {pattern!r} on {growth}"
    return None


@pytest.mark.parametrize("room", ROOMS)
def test_time_grows_like_the_text(room: str) -> None:
    tried: set[tuple[str | bytes, int, str]] = set()
    slow = []
    for site in found()[0]:
        for method in sorted(site.methods) if room_of(site) == room else ():
            if (site.pattern, site.flags, method) not in tried:
                tried.add((site.pattern, site.flags, method))
                if told := worst(site.pattern, site.flags, method, TEXTS):
                    slow.append(f"{site.place}: {told}")
    assert not slow, "\n".join(slow)


def test_every_pattern_is_read_from_the_source() -> None:
    """One that only a run knows is in a table above, or is tried on short texts."""
    unread = {f"{each.place.partition(':')[0]}: {each.source}" for each in found()[1]}
    assert len(found()[0]) > 500
    assert {each for each in unread if each.partition(":")[0] not in SHORT} <= set(TABLES)


@pytest.mark.parametrize("place", TABLES)
def test_patterns_of_tables(place: str) -> None:
    patterns = list(TABLES[place]())
    assert patterns
    method = "search" if any(each in place for each in ("discovery", "forks")) else "fullmatch"
    slow = [worst(each, re.MULTILINE, method, TEXTS) for each in patterns]
    assert not any(slow), slow


#: Patterns that sniffers, rules and logs once had, and forms of them.
PLANTED = {
    r"^\s*(?:from|import)\s+nemo\b": "finditer",
    r"^\W*(?:bash|sh)\s": "search",
    r"\bmkdir\b.*\slogs": "search",
    r"\bsrun\b[^\n#]*(?:\b|_)train(?:_\w+)?(?:\.py\b|\s|$)": "search",
    r"(\w+)(?:[ \t]+from)?[ \t]*\Z": "search",
    r"^\s*case\s+(.+?)\s+in\b": "search",
    r"[+-]?(\d+\.?\d*|\.\d+)": "fullmatch",
    r"\((.*),(.*)\)\*\d+": "search",
    r"(a+)+$": "match",
    r"(?:a|a)*b": "match",
    r"(\s*\w+\s*)*;": "match",
    r"#.*\bhours?\b": "search",
    r"\$\(\((?!.*10#)[^)]*SLURM": "search",
    r"/\*(.*?)\*/": "finditer",
    r"-{5,} arguments": "search",
    r"^\s*(?:.*(?:;|\bthen\b)\s*)?(?:continue|break)\b": "search",
}
SOUND = {
    r"^[^\S\n]*(?:from|import)\s+nemo\b": "finditer",
    r"^[^\w\n]*(?:bash|sh)\s": "search",
    r"^(?>.*?\bmkdir\b).*\slogs": "search",
    r"(?<!\w)(\w+)(?:[ \t]+from)?[ \t]*\Z": "search",
    r"\bsrun .{0,200}?--export": "search",
    r"(?:a|b)*c": "match",
    r"[^\n]*": "finditer",
    r'"(?:\\.|[^"\\\n])*"?': "finditer",
}


@pytest.mark.parametrize("pattern", PLANTED)
def test_slow_patterns_are_found(pattern: str) -> None:
    """On a busy machine a growth may not be seen at once."""
    assert any(worst(pattern, re.MULTILINE, PLANTED[pattern], TEXTS) for _ in range(5))


@pytest.mark.parametrize("pattern", SOUND)
def test_linear_patterns_are_none(pattern: str) -> None:
    assert worst(pattern, re.MULTILINE, SOUND[pattern], TEXTS) is None

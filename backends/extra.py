"""`extra`, the table of a target block that sets what parc has no name for, judged by the options that the
framework's own parser has."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..compiler.target import Refusal
from ..dsl.diagnostics import Diagnostic, did_you_mean
from ..dsl.job import Job
from .released_options import ReleasedOption, released_options, releases_with

DECIDED, UNPRICED = "PAR330", "PAR396"
CODES = {DECIDED: ("extra-decided", "`extra` sets what the job or the layout decides")}

#: A value of `extra`.
Value = str | int | float | bool

#: Choices that a message names.
_NAMED = 8
#: How the text of each kind of value looks, as a regular expression, and in words.
Kinds = Mapping[str, tuple[str, str]]
KINDS: Kinds = {
    "int": (r"[+-]?\d+", "a whole number"),
    "float": (r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", "a number"),
    "bool": (r"(?!)", "true or false"),
    "list": (r"(?s).*", "text, names with commas between them"),
}
_TEXT = (r"(?s).*", "text")


def among(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of the patterns, in which `*` stands for any text."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def decided(job: Job, target: str, key: str) -> Diagnostic:
    """`extra` may not set a key whose value follows from the job."""
    return Diagnostic(
        DECIDED,
        f"`extra` may not set `{key}`: the job or the layout decides it",
        job.span("target", target, "extra", key),
        help="constrain the layout in `goal`, or change the setting in `train`",
    )


def shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def text_of(value: Value) -> str:
    """A value as it stands behind an option: a whole number without a point."""
    if isinstance(value, float):
        return repr(int(value) if value.is_integer() else value)
    return shown(value)


def wanted(option: ReleasedOption, value: Value, kinds: Kinds = KINDS) -> str | None:
    """The values that an option takes, in words, where this one's text is not among them."""
    text = text_of(value)
    if option.choices:
        fits = isinstance(value, bool) == (option.kind == "bool") and text in option.choices
        return None if fits else _one_of(option.choices)
    pattern, words = kinds.get(option.kind, _TEXT)
    if isinstance(value, bool):
        return None if option.kind in ("bool", "") else words
    return None if re.fullmatch(pattern, text, re.ASCII) else words


def wanted_in_file(option: ReleasedOption, value: Value, kinds: Kinds = KINDS) -> str | None:
    """`wanted` for files whose values have types: texts are quoted, and numbers are not."""
    pattern, words = kinds.get(option.kind, _TEXT)
    if option.kind not in ("str", "list", ""):
        quoted = isinstance(value, str) and re.fullmatch(KINDS["float"][0], value, re.ASCII)
        if quoted and re.fullmatch(pattern, str(value), re.ASCII):
            return f"{words}, not in quotes"
    elif option.kind and not option.choices and not isinstance(value, str):
        return words
    return wanted(option, value, kinds)


def typed(option: ReleasedOption, value: Value) -> Value | list[str]:
    """A value as a file with types has it: 1 for a float is 1.0, names with commas are a list."""
    if option.kind == "list":
        return [each.strip() for each in str(value).split(",") if each.strip()]
    if option.kind == "float" and not isinstance(value, bool | str):
        return float(value)
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _one_of(choices: Sequence[str]) -> str:
    more = ", ..." if len(choices) > _NAMED else ""
    return f"one of {', '.join(choices[:_NAMED])}{more}"


def elsewhere(framework: str, name: str, release: str) -> str | None:
    """Where an option is that a release lacks: the releases that have it, or a name that is spelled alike."""
    if others := releases_with(framework, name):
        return f"{framework} {others[0]} to {others[-1]} has it"
    return did_you_mean(name, released_options(framework, release))


def unpriced(
    target: str, costs: Callable[[str], bool], extra_of: Callable[[Any], Mapping[str, Value]]
) -> Refusal:
    """Warns of keys of `extra` that change time or memory: `costs(key)`; no price counts them."""

    def asked(job: Job) -> str | None:
        options = job.options(target)
        keys = [
            key
            for key, value in (extra_of(options) if options else {}).items()
            if value is not False and costs(key)
        ]
        if not keys:
            return None
        named = ", ".join(f"`{key}`" for key in keys)
        return f"{target}: {named} of `extra` changes time or memory, which the plan does not count"

    return Refusal(
        UNPRICED,
        "extra-unpriced",
        "`extra` sets what changes time or memory",
        asked,
        ("target", target, "extra"),
        "run `parc calibrate` on a log of it, or leave the plan more room",
    )

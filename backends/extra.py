"""`extra`, the table of a target block that sets what parc has no name for, judged by the options that the
framework's own parser has."""

import re
from collections.abc import Callable, Mapping, Sequence
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
#: What a kind of value looks like, as the framework's parser reads it, and in words.
_FREQUENCY = (
    r"\d+|\(?\[[01]\](\*\d+)?(\+\[[01]\](\*\d+)?)*\)?(\*\d+)?",
    'a whole number, or text as "([0]*3+[1]*11)"',
)
KINDS: Mapping[str, tuple[str, str]] = {
    "int": (r"[+-]?\d+", "a whole number"),
    "share": (r"0(\.\d+)?|1", "a share, at most 1"),
    "part": (r"0(\.\d+)?", "a share below 1"),
    "interval": (r"\d+|auto", 'a whole number, or "auto"'),
    "float": (r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", "a number"),
    "bool": (r"(?!)", "true or false"),
    "list": (r"(?s).*", "text, names with commas between them"),
    "object": (r"(?!)", "a table, whose keys are said with a dot"),
    "section": (r"(?!)", "a table, whose keys are said with a dot"),
    "unsayable": (r"(?!)", "nothing that a job can say"),
    "tuple_type": (r"-?\d+(,-?\d+)*", 'text as "128,0"'),
    "moe_freq_type": _FREQUENCY,
    "la_freq_type": _FREQUENCY,
    "no_rope_freq_type": _FREQUENCY,
    "_parse_cuda_graph_modules_arg": (
        "full(_iteration(_inference)?)?|attn|mlp|moe|moe_router|moe_preprocess|mamba",
        "names of modules such as attn",
    ),
}


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


def wanted(option: ReleasedOption, value: Value) -> str | None:
    """What an option takes, in words, where the value is not that."""
    text = text_of(value)
    if option.choices:
        fits = text in option.choices and not isinstance(value, bool)
        return None if fits else _one_of(option.choices)
    pattern, words = KINDS.get(option.kind, (r"(?s).*", "text"))
    if isinstance(value, bool):
        return None if option.kind in ("bool", "") else words
    return None if re.fullmatch(pattern, text, re.ASCII) else words


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

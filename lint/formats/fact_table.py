"""Facts that were read of every job: each with its value, or why it is unknown, and its place."""

from collections.abc import Sequence

from ...dsl.diagnostics import one_line
from ...reading.facts import Unknown
from ..judging import Judged
from .summary import jobs


def facts_text(judged: Sequence[Judged]) -> str:
    return "\n".join(one_line(line) for each in jobs(judged) for line in _lines(each))


def _lines(judged: Judged) -> list[str]:
    lines = [f"{judged.path} ({judged.config.kind})"]
    width = max((len(fact.name) for fact in judged.config.facts), default=0)
    for fact in judged.config.facts:
        value = fact.value
        shown = f"unknown: {value.reason}" if isinstance(value, Unknown) else str(value)
        lines.append(f"  {fact.name:<{width}}  {shown}  ({fact.path}:{fact.line})")
    lines += [
        f"  not read: {each.reason} ({each.path}:{each.line})" for each in judged.config.unread
    ]
    return lines

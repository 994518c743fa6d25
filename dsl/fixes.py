"""Cures as edits: how a setting goes, how a condition comes into the goal, and a text after its cures."""

import re
from collections.abc import Iterable

from .diagnostics import Edit, Fix, Source, Span


def removal(span: Span) -> Edit:
    """The edit that takes a setting out, with its line where it has one of its own, else with its `;`."""
    text = span.source.text
    start = len(text[: span.start].rstrip(" \t"))
    end = span.end + len(text[span.end :]) - len(text[span.end :].lstrip(" \t"))
    last = text[end : end + 1] == "}"
    alone = not start or text[start - 1] == "\n"
    if text[end : end + 1] in (";", "\n" if alone else ";"):
        end += 1
    return Edit(Span(span.source, start, end), " " if last else "")


def required(condition: str, source: Source) -> Edit:
    """The edit that makes `require CONDITION` a line of the goal, which it adds where there is none."""
    line = f"require {condition}"
    if (edit := into("goal", line, source)) is not None:
        return edit
    end = Span(source, len(source.text), len(source.text))
    begin = "" if source.text.endswith("\n") else "\n"
    return Edit(end, f"{begin}goal {{ {line} }}\n")


def into(kind: str, line: str, source: Source) -> Edit | None:
    """The edit that makes a line the first of the only block of a kind; None without exactly one."""
    heads = list(re.finditer(rf"^[ \t]*{kind}\b[^{{}}=#\n]*\{{", source.text, re.MULTILINE))
    if len(heads) != 1:
        return None
    place = Span(source, heads[0].end(), heads[0].end())
    after = source.text[place.end :].lstrip(" \t\r")
    if after.startswith("\n"):
        return Edit(place, f"\n  {line}")
    return Edit(place, f" {line}" if after.startswith("}") else f" {line};")


def given(kind: str, key: str, source: Source) -> str | None:
    """The value that the only block of a kind gives a setting, where a line of it begins with that."""
    heads = list(re.finditer(rf"^[ \t]*{kind}\b[^{{}}=#\n]*\{{", source.text, re.MULTILINE))
    if len(heads) != 1:
        return None
    said = re.compile(rf"[^{{}}]*?(?<![\w.]){re.escape(key)}[ \t]*=[ \t]*([^\n;{{}}#]*)").match(
        source.text, heads[0].end()
    )
    return said[1].strip() if said else None


def applied(source: Source, fixes: Iterable[Fix]) -> tuple[str, int]:
    """The text after those cures that change it alone and do not touch what an earlier one changes, and their
    number."""
    taken: list[Edit] = []
    count = 0
    for fix in fixes:
        ours = all(edit.span.source.name == source.name for edit in fix.edits)
        if ours and not any(_touch(one.span, other.span) for one in fix.edits for other in taken):
            taken += fix.edits
            count += 1
    text = source.text
    for edit in sorted(taken, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text, count


def _touch(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end

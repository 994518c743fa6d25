"""Edits of findings -> new texts. What two findings both want to change is left to the first."""

from collections.abc import Iterable
from dataclasses import dataclass

from .finding import Edit
from .judging import Judged


@dataclass(frozen=True)
class Fixed:
    """A file's text before and after, and how many findings it settles."""

    path: str
    before: str
    after: str
    findings: int


def fixes(judged: Iterable[Judged]) -> list[Fixed]:
    """Every file that safe cures change; all other characters stay as they are."""
    texts: dict[str, str] = {}
    wanted: dict[str, list[tuple[Edit, ...]]] = {}
    for each in judged:
        texts |= each.config.texts
        for found in each.findings:
            for path in {edit.path for edit in found.edits}:
                edits = tuple(edit for edit in found.edits if edit.path == path)
                if edits not in wanted.setdefault(path, []):
                    wanted[path].append(edits)
    return [_fixed(path, texts[path], groups) for path, groups in wanted.items() if path in texts]


def _fixed(path: str, before: str, groups: Iterable[tuple[Edit, ...]]) -> Fixed:
    taken: list[Edit] = []
    count = 0
    for edits in groups:
        if not any(_overlap(one, other) for one in edits for other in taken):
            taken += edits
            count += 1
    after = before
    for edit in sorted(taken, key=lambda edit: (edit.start, edit.end), reverse=True):
        after = after[: edit.start] + edit.text + after[edit.end :]
    return Fixed(path, before, after, count)


def _overlap(one: Edit, other: Edit) -> bool:
    return one.start < other.end and other.start < one.end

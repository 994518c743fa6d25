"""For people: a screen of errors and warnings, or a line for each finding, and what was judged at all."""

from collections import Counter
from collections.abc import Sequence

from ...dsl.diagnostics import one_line, sentence
from ..finding import Finding
from ..judging import Judged, findings
from .grouped import Group, finding_line, groups, in_order
from .summary import SHOWN, counted, levels, summary

#: From so many findings on, those rules are named that speak most often.
MANY = 10
#: Lines of a first screen.
SCREEN = 60


def text(judged: Sequence[Judged], width: int | None = None, hints: bool = False) -> str:
    """Errors, then warnings, each message once with its source lines, in lines of at most `width` columns and
    on a screen: what does not fit is a line each, then a count. With `hints` these too, and every line.
    """
    said = findings(judged)
    end = [line for each in closing(judged, hints) for line in sentence("", each, width)]
    if hints:
        blocks = [group.block(width, whole=True) for group in groups(said)]
    else:
        shown = groups(found for found in said if found.severity != "info")
        blocks = screen(shown, width, SCREEN - len(end) - 1)
    return "\n\n".join("\n".join(block) for block in [*blocks, end])


def screen(shown: Sequence[Group], width: int | None, room: int) -> list[list[str]]:
    """Blocks of lines that, with a blank one between two, take no more than `room` lines: as many groups in
    full as leave a line to each of the others."""
    whole = [group.block(width, whole=False) for group in shown]
    lines = [group.line(width) for group in shown]
    full = len(shown)
    while full > 1 and _length(whole[:full], lines[full:]) > room:
        full -= 1
    rest = lines[full:]
    kept = len(rest)
    while kept and _length(whole[:full], [*rest[:kept], *_more(shown[full + kept :])]) > room:
        kept -= 1
    listed = [line for each in [*rest[:kept], *_more(shown[full + kept :])] for line in each]
    return [*whole[:full], *([listed] if listed else [])]


def _length(blocks: Sequence[list[str]], lines: Sequence[list[str]]) -> int:
    parts = [*map(len, blocks), *([sum(map(len, lines))] if lines else [])]
    return sum(parts) + max(len(parts) - 1, 0)


def _more(left: Sequence[Group]) -> list[list[str]]:
    """The count of findings that a screen has no line for."""
    if not left:
        return []
    found = [one for group in left for one in group.findings]
    files = len({one.file for one in found})
    where = f"in {counted(files, 'file')}"
    return [[f"not on this screen: {levels(found)} {where}; --format concise lists all"]]


def concise(judged: Sequence[Judged], hints: bool = False) -> str:
    said = [found for found in findings(judged) if hints or found.severity != "info"]
    lines = [one_line(finding_line(found)) for found in in_order(said)]
    return "\n".join([*lines, *map(one_line, closing(judged, hints))])


def closing(judged: Sequence[Judged], hints: bool) -> list[str]:
    """The last lines: rules that speak often, hints that are not shown, and what was judged."""
    kept = [] if hints else [found for found in findings(judged) if found.severity == "info"]
    return [*causes(judged), *_hints(kept), summary(judged)]


def _hints(found: Sequence[Finding]) -> list[str]:
    """`hints: 12 × PAR806 launcher-option and 2 of other rules; --hints shows them`."""
    if not found:
        return []
    rules = Counter(f"{each.code} {each.name}" for each in found)
    often = ", ".join(f"{count} × {rule}" for rule, count in rules.most_common(SHOWN))
    rest = len(found) - sum(count for _, count in rules.most_common(SHOWN))
    others = f" and {rest} of other rules" if rest else ""
    return [f"hints: {often}{others}; --hints shows them"]


def causes(judged: Sequence[Judged]) -> list[str]:
    """`most often: 47 × PAR647 output-folder, 33 × PAR604 ...`, where there are many errors and warnings."""
    found = [each for each in findings(judged) if each.severity != "info"]
    rules = Counter(f"{each.code} {each.name}" for each in found)
    if len(found) < MANY or len(rules) == len(found):
        return []
    often = ", ".join(f"{count} × {rule}" for rule, count in rules.most_common(SHOWN))
    return [f"most often: {often}"]

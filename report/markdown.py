"""A job's plans -> a text for a pull request, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parc.compiler.plan import Estimate, Plan
from parc.printing.advice_text import TELL, advice, local_command, may_be_tried
from parc.printing.plan_json import job_json, planned_json
from parc.printing.words.layouts import layout_text
from parc.printing.words.numbers import mfu, risk, seconds

from .choice import binding, choice, doubt, faster, fewer, proof, runners_up
from .figures.common import GIB
from .page import facts, title

if TYPE_CHECKING:
    from parc.api import Planned

#: Begins every text that parc writes.
OURS_MARKDOWN = "<!-- written by parc report -->\n"
#: What has a meaning in Markdown, or in the HTML that it may hold.
_SPECIAL = re.compile(r"([\\`*_{}\[\]+!|<>~&$])")


def report_markdown(planned: Planned, *, timed: bool = True) -> str:
    """The report of a job of which at least one target has a plan; `timed` as in `html.report_html`."""
    best = planned.plans[0]
    about = job_json(planned.job)
    parts = [
        f"# {marked(planned.job.name)}",
        marked(" · ".join(title(planned.job, best))),
        _targets(planned.plans),
        *(
            f"- **{marked(target)}** has no plan: {marked(each.message)} ({each.code})"
            for target, each in planned.complaints
        ),
        f"## {best.target}",
        "\n".join(f"- {label}: **{value}** ({note})" for label, value, note in facts(best)),
        *_advice(best),
        _details(
            "Where a step's time goes", _table(["part", "time", "share"], _time(best.estimate))
        ),
        _details("Memory of the fullest rank", _table(["term", "GiB"], _memory(best.estimate))),
        " ".join(marked(each) for each in (choice(best), doubt(best), fewer(best)) if each),
        f"**Proof.** {marked(proof(best, timed))}",
        *_faster(best),
        *_bound(best),
        *_others(best),
        *(f"> {marked(each.message)} ({each.code})" for each in planned.warnings_about(best)),
        f"<sub>parc {planned_json(planned)['parc']}, {marked(str(about['file']))} with sha256 "
        f"{planned.job.digest[:16]}; the numbers are predictions, those of plan.json.</sub>",
    ]
    return OURS_MARKDOWN + "\n" + "\n\n".join(parts) + "\n"


def marked(text: str) -> str:
    """A text that Markdown shows as it is, on one line; a zero-width space keeps `@` and `#` from naming
    somebody's account or an issue."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return re.sub(r"([@#])(?=\w)", "\\1\u200b", escaped)


def _targets(plans: Sequence[Plan]) -> str:
    """A row for each target, the best first, with its GPUs where targets take different numbers of them."""
    head = ["target", "MFU in %", "step", "memory", "risk", "layout"]
    rows = [_row(plan) for plan in plans]
    if len({plan.layout.gpus for plan in plans}) > 1:
        head.insert(1, "GPUs")
        for row, plan in zip(rows, plans, strict=True):
            row.insert(1, f"{plan.layout.gpus:,}")
    return _table(head, rows)


def _row(plan: Plan) -> list[str]:
    found = plan.estimate
    return [
        plan.target,
        mfu(found),
        seconds(found.step_seconds),
        f"{found.memory_bytes / GIB:.1f} GiB",
        risk(found.out_of_memory),
        layout_text(plan.layout),
    ]


def _time(found: Estimate) -> list[list[str]]:
    parts = sorted(found.time.items(), key=lambda part: -part[1])
    return [
        [name, seconds(value), f"{100 * value / found.step_seconds:.1f} %"] for name, value in parts
    ]


def _memory(found: Estimate) -> list[list[str]]:
    terms = sorted(found.fullest.memory.items(), key=lambda term: -term[1])
    rows = [[name.replace("_", " "), f"{size / GIB:.2f}"] for name, size in terms if size]
    return [*rows, ["in all", f"{found.memory_bytes / GIB:.1f}"]]


def _advice(plan: Plan) -> Iterable[str]:
    if said := advice(plan):
        yield f"> {marked(said)}{_trials(plan)}"


def _trials(plan: Plan) -> str:
    if not may_be_tried(plan):
        return ""
    return f" {TELL}; in the job's folder: {quoted(local_command(plan))}"


def quoted(code: str) -> str:
    """A line of code as Markdown shows it, between more backticks than it has in a row."""
    longest = max(map(len, re.findall("`+", code)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {code} {ticks}" if longest else f"{ticks}{code}{ticks}"


def _faster(plan: Plan) -> Iterable[str]:
    if found := faster(plan):
        yield "**Faster with.**\n\n" + "\n".join(f"- {marked(each)}" for each in found)


def _bound(plan: Plan) -> Iterable[str]:
    if plan.binding:
        yield "**What binds.**\n\n" + "\n".join(
            f"- {marked(what.replace('`', ''))}: {marked(gain)}" for what, gain in binding(plan)
        )


def _others(plan: Plan) -> Iterable[str]:
    if plan.runners_up:
        head = ["against the choice", "MFU in %", "memory and risk", "what differs"]
        rows = [[worse, mfu, memory, other] for worse, other, _, mfu, memory in runners_up(plan)]
        yield _details("Runners-up", _table(head, rows))


def _details(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([marked(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

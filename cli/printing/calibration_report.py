"""A calibration -> text for a person, JSON, and the comment of the file that it writes."""

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from parc.calibrate.calibration import Calibration, Compared
from parc.calibrate.measured_run import DEGREES
from parc.calibrate.parameters import owner_of
from parc.calibrate.setting_text import setting_text
from parc.calibrate.site import FittedParameter, uses
from parc.calibrate.site_file import definition_names
from parc.compiler.plan import Layout
from parc.compiler.pricing.estimate import layout_of, one_row
from parc.compiler.risk import band
from parc.dsl.diagnostics import one_line
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.job import Job
from parc.dsl.schema import setting_types
from parc.dsl.syntax.quoting import quoted

from .plan_json import JsonObject, job_json, rounded
from .words.layouts import layout_text


def layout_that_ran(compared: Compared) -> Layout:
    return layout_of(one_row(compared.run.case, compared.run.layout))


def calibration_text(result: Calibration, output: str, changed: bool) -> str:
    """Runs with their errors, parameters, and what to do with the file."""
    rows = [_HEAD, *map(_run_row, result.compared)]
    if len(result.jobs) > 1:
        names = ("job", *(PurePath(each.run.job.path).name for each in result.compared))
        rows = [(row[0], name, *row[1:]) for row, name in zip(rows, names, strict=True)]
    lines = [_counts(result), "", *columns(rows)]
    lines += [f"  {line}" for line in _filled(result.compared)]
    lines += [
        "",
        *columns([("parameter", "setting", "before", "fitted"), *_parameter_rows(result)]),
    ]
    untold = [found.parameter.name for found in result.site.parameters if not found.told]
    if untold:
        lines += ["", f"  the runs tell little of: {', '.join(untold)}"]
    low, high = band(1.0, result.site.spread)
    lines += [
        f"  four of five other runs: {low - 1:+.0%} to {high - 1:+.0%} around their prediction"
    ]
    return "\n".join([*lines, "", _use(result, output, changed)])


def _use(result: Calibration, output: str, changed: bool) -> str:
    """Whether the file changed, and how to import it where a job does not yet."""
    state = "written" if changed else "nothing to change"
    without = [job for job in result.jobs if not uses(job, result.site)]
    several = len(result.jobs) > 1
    if not without:
        return f"{output}: {state}; the {'jobs have' if several else 'job has'} its numbers"
    cluster, _ = definition_names(result.jobs, output)
    lines = [f"{output}: {state}; to use it, write in {'each' if several else 'the'} job", ""]
    for path, taken in dict.fromkeys(_imported(job, output, cluster) for job in without):
        lines += [f"  import {quoted(path)}", f"  {taken}"]
    return "\n".join(lines)


def _imported(job: Job, output: str, cluster: str) -> tuple[str, str]:
    path = os.path.relpath(output, os.path.dirname(os.path.abspath(job.path)))
    return path, f"cluster {job.cluster.name or 'NAME'} from {cluster} {{ nodes = ... }}"


_HEAD = ("run", "layout", "reports", "measured", "before", "after")


def _counts(result: Calibration) -> str:
    runs, targets = len(result.compared), sorted({each.run.target for each in result.compared})
    noun = "run" if runs == 1 else "runs"
    return f"{runs} {noun}, {result.different} different: {', '.join(targets)}"


def _run_row(compared: Compared) -> tuple[str, ...]:
    steps = compared.run.steps
    return (
        compared.run.path,
        layout_text(layout_that_ran(compared)),
        str(steps.reports),
        f"{steps.seconds:.4g} s ± {100 * steps.spread:.1f} %",
        _percent(compared.before),
        _percent(compared.after),
    )


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _filled(runs: Sequence[Compared]) -> list[str]:
    """A line for each run of whose layout parc chose a part, since neither log nor user gave it, that shows
    no arguments, or that ran with other kernels and traffic than the job says."""
    lines = []
    for run in (each.run for each in runs):
        if run.filled:
            lines.append(
                f"{run.path} does not say {', '.join(run.filled)}: {_assumed(run.filled)} assumed"
            )
        if run.steps.early:
            lines.append(
                f"{run.path} ran at another pace at first, {run.steps.early_seconds:.4g} s: "
                f"{run.steps.early} reports are left out"
            )
        if run.facts is None:
            lines.append(
                f"{run.path} does not show its settings: kernels and overlap are the job's"
            )
        elif run.facts:
            ran = ", ".join(f"{name} {_word(value)}" for name, value in run.facts.items())
            lines.append(f"{run.path} ran with {ran}, unlike the job, and is priced so")
    return lines


def _assumed(names: Sequence[str]) -> str:
    """The values that stand for decisions that nobody says."""
    kinds = {
        "1 as degree": {*names} & {*DEGREES},
        "the job's nodes": "nodes" in names,
        "parc's choice": {*names} - {*DEGREES, "nodes"},
    }
    found = [kind for kind, has in kinds.items() if has]
    return f"{', '.join(found)} {'is' if len(found) == 1 else 'are'}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameter_rows(result: Calibration) -> Iterable[tuple[str, ...]]:
    """A row for each setting that moved."""
    for found in result.site.parameters:
        for name, value in found.after.items():
            if value != found.before[name]:
                known = f"{setting(name, value)} ± {100 * found.std:.0f} %"
                yield found.parameter.name, name, setting(name, found.before[name]), known


def setting(name: str, value: float) -> str:
    """A setting of a GPU or a cluster as a job would say it."""
    types = setting_types(Cluster if owner_of(name) == "cluster" else Gpu)
    return setting_text(types[name], value)


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def summary(result: Calibration) -> list[str]:
    """The comment of the file: its runs with their errors. The same logs give the same text, whatever the job
    imports."""
    rows = [("run", "step", "before", "after")]
    rows += [
        (
            one_line(PurePath(each.run.path).name),
            f"{each.run.steps.seconds:.4g} s",
            _percent(each.before),
            _percent(each.after),
        )
        for each in result.compared
    ]
    return ["Errors of the predicted step, before and after:", *columns(rows)]


def calibration_json(result: Calibration, output: str, changed: bool) -> JsonObject:
    return {
        "job": job_json(result.jobs[0]),
        "jobs": [job_json(job) for job in result.jobs],
        "runs": [_run_json(each) for each in result.compared],
        "different": result.different,
        "parameters": [_parameter_json(found) for found in result.site.parameters],
        "step_spread": result.site.spread,
        "warnings": [warning.to_json() for warning in result.warnings],
        "output": output,
        "written": changed,
    }


def _parameter_json(found: FittedParameter) -> JsonObject:
    settings = {
        name: {"before": found.before[name], "fitted": value} for name, value in found.after.items()
    }
    known = {"unknown": found.std, "left": found.left, "told": found.told}
    return rounded({"name": found.parameter.name, "settings": settings, **known})


def _run_json(compared: Compared) -> JsonObject:
    run = compared.run
    return rounded(
        {
            "path": run.path,
            "job": run.job.path,
            "target": run.target,
            "layout": layout_that_ran(compared).in_words,
            "filled": list(run.filled),
            "facts": None if run.facts is None else dict(run.facts),
            "step_seconds": run.steps.seconds,
            "spread": run.steps.spread,
            "reports": run.steps.reports,
            "dropped": run.steps.dropped,
            "error_before": compared.before,
            "error_after": compared.after,
        }
    )

"""price one given layout, and say which rules it breaks"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import parc
from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from ..array_threads import load_numpy
from .job_arguments import add_json, add_overrides, add_stage, add_targets, load_job

if TYPE_CHECKING:
    from parc.dsl.job import Job

NAME = "estimate"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="a job file")
    parser.add_argument(
        "--layout",
        required=True,
        type=layout,
        metavar="NAME=VALUE,...",
        help="the degrees, such as tp=8,pp=4,micro_batch=1,recompute=full; what is left out is 1",
    )
    add_targets(parser)
    add_overrides(parser)
    add_stage(parser)
    add_json(parser)


def layout(text: str) -> dict[str, int]:
    """`tp=8,recompute=full` as numbers."""
    from parc.compiler.plan import Layout
    from parc.dsl.expression import VALUES

    variables = (*Layout.model_fields, "dp", "gpus")
    degrees: dict[str, int] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        known = VALUES.get(name, {})
        if not equals or not (value.isdecimal() or value in known):
            raise ArgumentTypeError(f"`{part}` is not NAME=VALUE")
        if name not in variables:
            help_text = did_you_mean(name, variables)
            raise ArgumentTypeError(
                f"unknown degree `{name}`; {help_text or 'see docs/language.md'}"
            )
        if name in degrees:
            raise ArgumentTypeError(f"`{name}` is given twice")
        degrees[name] = known[value] if value in known else int(value)
    return degrees


def run(arguments: Namespace) -> int:
    job = load_job(arguments)
    load_numpy()
    from ..api import cautions, measured, softened, target_names
    from ..printing.plan_json import estimate_json, job_json, measured_json, warnings_json
    from ..printing.plan_text import estimate_text
    from ..printing.terminal import print_diagnostics, print_json, print_text

    prices, complaints = {}, []
    for target in target_names(job, arguments.target):
        try:
            price = parc.estimate(job, arguments.layout, target)
            prices[target] = price, measured(job, target, price)
        except JobError as error:
            complaints += [_named(job, target, found) for found in error.diagnostics]
    complaints = softened(complaints, bool(prices))
    warnings = {target: cautions(job, target) for target in prices}
    print_diagnostics([*complaints, *chain.from_iterable(warnings.values())])
    if arguments.json:
        priced = [
            {
                "target": name,
                **estimate_json(price),
                **measured_json(ran),
                "warnings": warnings_json(warnings[name]),
            }
            for name, (price, ran) in prices.items()
        ]
        broken = [complaint.to_json() for complaint in complaints]
        print_json({"job": job_json(job), "estimates": priced, "broken": broken})
    elif prices:
        print_text(
            "\n\n".join(estimate_text(job, target, *found) for target, found in prices.items())
        )
    return 0 if prices else 1


def _named(job: Job, target: str, complaint: Diagnostic) -> Diagnostic:
    """The complaint with its target in front, where the job has several."""
    if len(job.targets) == 1 or complaint.message.startswith(target):
        return complaint
    return replace(complaint, message=f"{target}: {complaint.message}")

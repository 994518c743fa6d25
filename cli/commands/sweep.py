"""solve a job for all combinations of some settings, and say which are the best to choose among"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import parc
from parc.dsl.diagnostics import JobError

from .job_arguments import add_json, add_overrides, add_targets, load_job, output_path

if TYPE_CHECKING:
    from parc.dsl.job import Job

    from ..printing.plan_json import JsonObject
    from ..printing.sweep_report import Report
    from ..sweep.sweep_run import Solver

NAME = "sweep"
#: What --front may name, and its key in a plan.
CRITERIA = {"days": "days", "cost": "cost", "gpus": "gpus", "energy": "energy_joules", "mfu": "mfu"}
#: Processes of the largest pool.
MOST_PROCESSES = 4096


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB", help="a job file")
    add(
        "--over",
        action="append",
        required=True,
        metavar="PATH=VALUE,...",
        help="values that a setting takes in turn, such as cluster.nodes=8,16,32; may be repeated",
    )
    output = "a folder that keeps the points: the same command goes on where it ended"
    add("-o", "--output", type=output_path, metavar="DIR", help=output)
    add("--force", action="store_true", help="drop the points of another sweep in the folder")
    add(
        "--front",
        type=_criteria,
        metavar="NAME,...",
        help=f"what the Pareto front weighs, of {', '.join(CRITERIA)}; all of them unless given",
    )
    processes = "processes that solve, as many as there are cores unless given"
    add("--processes", type=_count, metavar="N", help=processes)
    ray = "solve on the Ray cluster at ADDRESS (`auto`: that of this machine); needs parc-compiler[ray]"
    add("--ray", type=_address, metavar="ADDRESS", help=ray)
    add_targets(parser)
    add_overrides(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print the result as CSV")
    add_json(form)


def _criteria(text: str) -> tuple[str, ...]:
    names = dict.fromkeys(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in CRITERIA]:
        raise ArgumentTypeError(f"`{unknown[0]}` is none of {', '.join(CRITERIA)}")
    return tuple(CRITERIA[name] for name in names)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise ArgumentTypeError(f"expected a number from 1 to {MOST_PROCESSES:,}, not `{text}`")
    return int(text)


def _address(text: str) -> str:
    if not text.strip():
        raise ArgumentTypeError("the address is empty")
    return text


def run(arguments: Namespace) -> int:
    from parc.dsl.syntax.sources import reading_once

    with reading_once():  # all points are of one job, whoever edits the file meanwhile
        return _run(arguments)


def _run(arguments: Namespace) -> int:
    from ..sweep.grid import read_grid, refuse_unreadable
    from ..sweep.results import results_of

    grid = read_grid(arguments.over)
    job = load_job(arguments)
    from ..api import target_names
    from ..printing.sweep_report import Report
    from ..sweep.front import weighed

    targets = target_names(job, arguments.target)
    refuse_unreadable(arguments.job, grid, arguments.set)
    criteria = weighed(arguments.front, job, grid)
    with results_of(grid, _head(job, targets), arguments.output, arguments.force) as results:
        report = Report(job, grid, targets, results, criteria, named=bool(arguments.front))
        with _printed(arguments, report):
            _complete(arguments, report)
        return 0 if report.planned else 1


def _head(job: Job, targets: Sequence[str]) -> JsonObject:
    """The head that a folder's points must share: the job with its --set, the targets and the release of
    parc."""
    return {"parc": parc.__version__, "job": job.digest, "targets": list(targets)}


def _complete(arguments: Namespace, report: Report) -> None:
    """Solves what lacks. An interruption says what is kept."""
    from ..printing.terminal import progress_bar
    from ..sweep.sweep_run import complete

    solver = _solver(arguments)
    grid, results = report.grid, report.results
    with progress_bar(report.job.name, len(grid), results.count) as advance:
        try:
            complete(results, arguments.job, grid, arguments.set, report.targets, solver, advance)
        except KeyboardInterrupt as interruption:
            kept = f"{results.count:,} of {len(grid):,} points are solved"
            where = f" and kept in {arguments.output}: the same command solves the others"
            interruption.add_note(kept + (where if arguments.output else ""))
            raise


def _solver(arguments: Namespace) -> Solver:
    """Where points are solved."""
    if arguments.ray:
        from ..sweep.ray_cluster import solve_on_ray

        return partial(solve_on_ray, address=arguments.ray)
    from ..sweep.solver_processes import cores, solve_in_processes

    return partial(solve_in_processes, count=arguments.processes or cores())


@contextmanager
def _printed(arguments: Namespace, report: Report) -> Iterator[None]:
    """Prints what has been solved, also where Ctrl-C, a full disk or a lost cluster ended it."""
    from ..printing.sweep_report import print_csv, print_sweep_json
    from ..printing.sweep_table import print_table

    show = print_csv if arguments.csv else print_sweep_json if arguments.json else print_table
    try:
        yield
    except KeyboardInterrupt:
        show(report)
        raise
    except JobError:
        if report.results.count:
            show(report)
        raise
    show(report)

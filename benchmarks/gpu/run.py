"""Probes one GPU and trains emitted jobs on it: python benchmarks/gpu/run.py FOLDER

Within `--minutes` (12) it times kernels (`parc measure`'s probe), then trains a fixed set of jobs as `parc
compile` writes them, each a process of its own, the next importing while one trains. FOLDER then has

    probe.jsonl      the probe's rows; parc measure --rows FOLDER/probe.jsonl -o site.par
    trained.csv      lines in the form of measured_public.csv, which benchmarks/accuracy/accuracy.py scores
    tuned.csv        steps and memory of the jobs of target accelerate
    jobs/NAME/       each job with plan.json, launch files and log; parc calibrate FOLDER/jobs/* -o site.par

A second call goes on with what the first had no time for. Needs parc, PyTorch with CUDA, torchtitan,
DeepSpeed and TRL; `--prepare GPU` writes the jobs alone, for a machine to which they are carried.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.accuracy.rows import gpu_names
from benchmarks.gpu import card
from benchmarks.gpu.emitted_jobs import (
    JOBS,
    STEPS,
    Trained,
    files_of,
    outcome,
    plan_of,
    row,
    text_of,
)
from benchmarks.gpu.measure_steps import COLUMNS, over_after, told
from benchmarks.gpu.steps import Outcome
from benchmarks.gpu.turns import Ended, Program, in_turn
from parc.backends import BACKENDS
from parc.calibrate.probe.local_run import run_probe
from parc.dsl.diagnostics import JobError

#: Minutes of the whole, of the probe, and seconds of one job, imports aside.
MINUTES, PROBE_MINUTES, EACH_SECONDS = 12.0, 2.0, 90.0
#: Seconds that the last job needs at least: it does not begin with less.
LEAST_SECONDS = 20.0
#: Arguments after which each framework tells of every step.
EACH_STEP = {
    "torchtitan": ("--metrics.log_freq=1", f"--training.steps={STEPS}"),
    "deepspeed": ("--log-interval=1", f"--steps={STEPS}"),
    "accelerate": ("--model_name_or_path=",),  # weights are drawn
}


@dataclass(frozen=True)
class Machine:
    """`gpu` is the GPU's name in the CSV, `about` its own name and versions."""

    gpu: str
    about: str
    today: date


def prepare(jobs: Sequence[Trained], gpu: str, folder: Path) -> list[Program]:
    """Writes the jobs' files for a GPU of the standard library; the programs that train them."""
    made = []
    for trained in jobs:
        plan, out = plan_of(trained, gpu), folder / "jobs" / trained.name
        for path, text in files_of(plan).items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_text(text, encoding="utf-8")
        (out / plan.job.path).write_text(text_of(trained, gpu), encoding="utf-8")
        entry = out / BACKENDS[trained.target].entry
        made.append(Program(trained.name, trained.target, entry, EACH_STEP[trained.target]))
    return made


def train(
    jobs: Sequence[Trained],
    folder: Path,
    machine: Machine,
    run: Callable[[Sequence[Program]], Iterator[tuple[Program, Ended]]],
) -> list[str]:
    """Trains the jobs that the CSV lacks and adds the line of each as soon as it is known.

    Returns what failed and why, and how many jobs were left out.
    """
    file = folder / "trained.csv"
    known = {*_known(file, "id"), *_known(folder / "tuned.csv", "name")}
    library = gpu_names.GPUS[machine.gpu]
    left = [each for each in jobs if not known & {each.name, _id(machine.gpu, each)}]
    by_name = {each.name: each for each in left}
    failures, ended = [], 0
    for program, end in run(prepare(left, library, folder)):
        ended += 1
        trained = by_name[program.name]
        plan = plan_of(trained, library)
        result = outcome(plan.job, trained.target, end.code, end.text, end.reserved)
        print(f"{trained.name}: {told(result)}, {end.seconds:.0f} s", flush=True)
        if result.failure:
            failures.append(f"{trained.name}: {result.failure}")
            continue
        about = f"{machine.about}, {machine.today.isoformat()}"
        year = machine.today.year
        if trained.target == "accelerate":  # whose stack no line of measured_public.csv can name
            _add_tuned(folder / "tuned.csv", trained, result, end.device, about)
            continue
        _add(file, row(trained, plan, result, machine.gpu, about, year, end.device))
    if ended < len(left):
        failures.append(f"{len(left) - ended} of {len(left)} jobs left out: the time is over")
    return failures


def _id(gpu: str, trained: Trained) -> str:
    return f"own-{gpu.lower()}-{trained.name}"


def _known(file: Path, column: str) -> list[str]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [line[column] for line in csv.DictReader(lines)]


def _add_tuned(file: Path, trained: Trained, result: Outcome, device: int, about: str) -> None:
    line = {
        "name": trained.name,
        "seconds": f"{result.seconds or 0:.5g}",
        "reserved_gib": f"{(result.peak_bytes or 0) / 2**30:.3f}",
        "device_gib": f"{device / 2**30:.3f}",
        "oom": str(int(result.out_of_memory)),
        "where": about,
    }
    _add(file, line, list(line))


def _add(file: Path, line: dict[str, str], columns: Sequence[str] = COLUMNS) -> None:
    new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(line)


def probe(folder: Path, minutes: float, cpu: bool = False) -> str:
    """Runs the probe, which goes on where an earlier one ended; why it did not run to its end."""
    options = ["--minutes", f"{minutes:g}", *(["--cpu", "--procs", "1"] if cpu else [])]
    try:
        run_probe(sys.executable, folder / "probe.jsonl", options)
    except JobError as error:
        return error.diagnostics[0].message
    return ""


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="what it writes into")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of the whole; 12")
    parser.add_argument("--prepare", metavar="GPU", help="write the jobs for a GPU, and end")
    parser.add_argument("--jobs", metavar="NAME,...", help="some of the jobs alone")
    parser.add_argument("--no-probe", action="store_true", help="train alone")
    return parser.parse_args(given)


def chosen(names: str | None) -> list[Trained]:
    """The jobs of these names, all without any. Raises `SystemExit` for a name that none has."""
    wanted = names.split(",") if names else [each.name for each in JOBS]
    unknown = sorted(set(wanted) - {each.name for each in JOBS})
    if unknown:
        known = ", ".join(each.name for each in JOBS)
        raise SystemExit(f"run: no job is called {', '.join(unknown)}; there are {known}")
    return [each for each in JOBS if each.name in wanted]


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    over = over_after(60 * asked.minutes - LEAST_SECONDS)
    jobs = chosen(asked.jobs)
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.prepare:
        prepare(jobs, asked.prepare, asked.folder)
        return 0
    idle, found = card.used_mib(), card.in_library("run")
    if found is None:
        return 2
    why = "" if asked.no_probe else probe(asked.folder, PROBE_MINUTES)
    turns = partial(
        in_turn,
        folder=asked.folder / "jobs",
        empty=partial(card.wait_until_empty, idle),
        used_mib=card.used_mib,
        limit=EACH_SECONDS,
        over=over,
    )
    machine = Machine(*found, date.today())
    failures = train(jobs, asked.folder, machine, turns)
    for failure in [*filter(None, [why]), *failures]:
        print(f"run: {failure}", file=sys.stderr)
    return 1 if why or failures else 0


if __name__ == "__main__":
    sys.exit(main())

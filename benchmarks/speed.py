"""How long parc takes on every example, and whether its optimum is the best of all layouts.

    python benchmarks/speed.py [EXAMPLE...] [--json FILE] [--repeat N] [--ratios]

What commands promise of their time comes first, as ratios of processor time in one run (command_times.py),
and what a sweep of large spaces prices; `--ratios` ends there. Cold is `parc compile` in a fresh interpreter,
its modules compiled to bytecode as an installation leaves them: the best of N wall times, the best processor
time, and the most memory. Warm is a second run in one process, cut into phases. Both count all targets of the
job. Layouts per second is the exhaustive sweep on one core, in processor time; the optimum is solved without
the sweep's help and compared with its best. A space that does not fit into memory is left out of both, and
said so. Exits 1 when an optimum differs. A missed time only fails the
line that says so: a busy machine is no fault of the code, and processor time beside wall time shows how busy
it was.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it runs by its path
from benchmarks import command_times
from benchmarks.command_times import ROOT, Run, compiled

EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.par"))}
PHASES = ("parse", "sweep", "solve", "emit", "total")
#: Sweeps of a space: the fastest counts.
SWEEPS = 3
#: Examples whose spaces are so large that what a sweep takes is the price of layouts.
LARGE = ("llama3_405b", "mixtral_8x7b")
#: A space of more layouts, on the way of its joins too, does not fit into memory whole: it is not swept.
WHOLE = 2**23


@dataclass(frozen=True)
class Swept:
    """One target's space: its layouts, processor seconds to price them, and whether solver and sweep agree
    on the best."""

    target: str
    layouts: int
    seconds: float
    agrees: bool


@dataclass(frozen=True)
class Measured:
    """Everything about one example; `phases` are warm wall seconds over all targets."""

    example: str
    gpus: int
    experts: int
    cold: Run
    phases: dict[str, float]
    sweeps: tuple[Swept, ...]

    @property
    def layouts(self) -> int:
        return sum(sweep.layouts for sweep in self.sweeps)

    @property
    def sweep_seconds(self) -> float:
        return sum(sweep.seconds for sweep in self.sweeps)

    @property
    def agrees(self) -> bool:
        return all(sweep.agrees for sweep in self.sweeps)


@dataclass(frozen=True)
class Limit:
    """A bound that some examples must keep."""

    text: str
    concerns: Callable[[Measured], bool]
    value: Callable[[Measured], float]
    most: float
    unit: str


def _largest(it: Measured) -> bool:
    return it.gpus == 16384


def _experts(it: Measured) -> bool:
    return it.gpus == 2048 and it.experts > 0


def _cold_seconds(it: Measured) -> float:
    return it.cold.wall_seconds


def _megabytes(it: Measured) -> float:
    return it.cold.memory_bytes / 1e6


LIMITS = (
    Limit("16,384 GPUs, all targets, cold", _largest, _cold_seconds, 2.5, "s"),
    Limit("16,384 GPUs, memory", _largest, _megabytes, 400, "MB"),
    Limit("experts on 2,048 GPUs, cold", _experts, _cold_seconds, 5, "s"),
)
LEAST_RATE = 800_000
#: Below this many layouts the cost of a space, not of a layout, is what a sweep takes.
MANY_LAYOUTS = 100_000


class Clock:
    """Wall seconds by phase, summed over its uses."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] += time.perf_counter() - began


def warm(path: Path) -> dict[str, Any]:
    """The phases of a second run, and the sweeps; printed by a process of its own."""
    import parc
    from parc.api import emit, plan_targets
    from parc.backends import BACKENDS
    from parc.compiler.case import Case
    from parc.compiler.search.cp_sat_run import finish
    from parc.compiler.search.cp_sat_search import solving
    from parc.compiler.search.space import Space
    from parc.compiler.search.sweep import sweep

    emit(plan_targets(parc.load(path)))
    clock, sweeps = Clock(), []
    with clock("parse"):
        job = parc.load(path)
    for spec in job.targets:
        case = Case(job, BACKENDS[spec.name].target)
        with clock("sweep"):
            space = Space(case)
            if not space.has_at_most(WHOLE):
                print(f"{path.stem} on {spec.name}: too many layouts to sweep", file=sys.stderr)
                continue
            size = space.size
            known = sweep(space).incumbent
        with clock("solve"):
            finish(solving(space, known))
        sweeps.append(_swept(spec.name, space, size))
    with clock("total"):
        planned = plan_targets(parc.load(path))
        with clock("emit"):
            emit(planned)
    return {
        "gpus": max(plan.layout.gpus for plan in planned.plans),
        "experts": job.model.experts,
        "phases": clock.seconds,
        "sweeps": [asdict(sweep) for sweep in sweeps],
    }


def _swept(target: str, space: Any, size: int) -> Swept:
    """Price a space again, and let the solver find its optimum without knowing the sweep's."""
    from parc.compiler.search.cp_sat_search import solve
    from parc.compiler.search.sweep import sweep
    from parc.compiler.variables import ORDER

    best, solution = sweep(space).best, solve(space)
    agrees = (best is None) == (solution is None) and all(
        best[name] == solution.layout[name] for name in ORDER if best and solution
    )
    return Swept(target, size, pricing_seconds(space), agrees)


def pricing_seconds(space: Any) -> float:
    """Processor seconds to price all layouts of a space."""
    from parc.compiler.pricing.quantities import price

    seconds = []
    for _ in range(SWEEPS):
        began = time.process_time()
        price(space.case, space.layouts)
        seconds.append(time.process_time() - began)
    return min(seconds)


def large_sweeps() -> tuple[int, float]:
    """The layouts of LARGE's spaces, and processor seconds to price them."""
    import parc
    from parc.backends import BACKENDS
    from parc.compiler.case import Case
    from parc.compiler.search.space import Space

    jobs = [parc.load(EXAMPLES[example]) for example in LARGE]
    targets = [(job, BACKENDS[spec.name].target) for job in jobs for spec in job.targets]
    spaces = [Space(Case(job, target)) for job, target in targets]
    return sum(space.size for space in spaces), sum(map(pricing_seconds, spaces))


def measure(example: str, repeat: int, bytecode: Path) -> Measured:
    """Cold runs and the warm one, each in a process of its own."""
    runs = [compiled(str(EXAMPLES[example]), bytecode) for _ in range(repeat)]
    command = [sys.executable, __file__, "--warm", example]
    text = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(text)
    fastest = min(runs, key=lambda run: run.wall_seconds)
    return Measured(
        example=example,
        gpus=found["gpus"],
        experts=found["experts"],
        cold=Run(
            fastest.wall_seconds,
            min(run.cpu_seconds for run in runs),
            max(run.memory_bytes for run in runs),
        ),
        phases=found["phases"],
        sweeps=tuple(Swept(**sweep) for sweep in found["sweeps"]),
    )


def machine() -> dict[str, Any]:
    """Facts that the times depend on besides parc."""
    return {
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "parc": version("parc-compiler"),
        "ortools": version("ortools"),
        "numpy": version("numpy"),
    }


HEADER = (
    f"{'':18}{'':>7}{'cold':>23}{'warm, ms':>47}{'':>10}{'layouts':>11}\n"
    f"{'example':18}{'GPUs':>7}{'wall s':>8}{'CPU s':>7}{'MB':>8}"
    + "".join(f"{phase:>9}" for phase in PHASES)
    + f"{'layouts':>9}{'per s':>11}  optimum"
)


def row(it: Measured) -> str:
    phases = "".join(f"{1000 * it.phases[phase]:9.0f}" for phase in PHASES)
    rate = it.layouts / it.sweep_seconds if it.sweeps else 0.0
    return (
        f"{it.example:18}{it.gpus:7,}{it.cold.wall_seconds:8.2f}{it.cold.cpu_seconds:7.2f}"
        f"{it.cold.memory_bytes / 1e6:8.0f}{phases}{it.layouts:9,}{rate:11,.0f}"
        f"  {'proven' if it.agrees else 'DIFFERS'}"
    )


def verdicts(found: list[Measured]) -> Iterator[str]:
    """A line for each limit that the examples speak to."""
    for limit in LIMITS:
        for it in filter(limit.concerns, found):
            value = limit.value(it)
            yield _verdict(
                value < limit.most,
                f"{limit.text}: {it.example} {value:.3g} {limit.unit}, below {limit.most:g} {limit.unit}",
            )
    layouts, seconds = (
        sum(getattr(it, name) for it in found) for name in ("layouts", "sweep_seconds")
    )
    if layouts >= MANY_LAYOUTS:
        yield _rate(layouts, seconds)
    pairs = [sweep for it in found for sweep in it.sweeps]
    agreed = sum(sweep.agrees for sweep in pairs)
    yield _verdict(
        agreed == len(pairs),
        f"optimum: solver and exhaustive sweep agree on {agreed} of {len(pairs)} jobs and targets",
    )


def _rate(layouts: int, seconds: float) -> str:
    rate = layouts / seconds
    return _verdict(
        rate >= LEAST_RATE,
        f"sweep: {layouts:,} layouts at {rate:,.0f} per second and core, at least {LEAST_RATE:,}",
    )


def _verdict(passed: bool, text: str) -> str:
    return f"  {'PASS' if passed else 'FAIL'}  {text}"


def ratios(bytecode: Path, repeat: int) -> list[str]:
    """A line for each promise of a command's time, and one for the sweep."""
    command_times.fastest(bytecode, 1)  # which compiles the modules
    runs = command_times.fastest(bytecode, repeat)
    loads = command_times.estimate_loads_ortools(bytecode)
    promised = [_verdict(*each) for each in command_times.verdicts(runs, loads)]
    return [*promised, _rate(*large_sweeps())]


def arguments() -> Any:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", nargs="*", metavar="EXAMPLE", help="by default all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured")
    parser.add_argument("--repeat", type=int, default=3, help="cold runs of each example")
    parser.add_argument("--ratios", action="store_true", help="only what commands promise")
    parser.add_argument("--warm", action="store_true", help="only the warm run of one, as JSON")
    chosen = parser.parse_args()
    unknown = set(chosen.example) - set(EXAMPLES)
    if unknown or chosen.repeat < 1:
        parser.error(f"examples are {', '.join(EXAMPLES)}; --repeat is at least 1")
    return chosen


def main() -> int:
    chosen = arguments()
    if chosen.warm:
        print(json.dumps(warm(EXAMPLES[chosen.example[0]])))
        return 0
    host = machine()
    print(" · ".join(f"{name.replace('_', ' ')} {value}" for name, value in host.items()))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        bytecode = Path(folder)
        compiled(str(next(iter(EXAMPLES.values()))), bytecode)
        promised = ratios(bytecode, chosen.repeat)
        print("\n".join(promised), flush=True)
        if chosen.ratios:
            return 0
        print(HEADER)
        for example in chosen.example or EXAMPLES:
            found.append(measure(example, chosen.repeat, bytecode))
            print(row(found[-1]), flush=True)
    lines = list(verdicts(found))
    print("\n".join(lines))
    if chosen.json:
        record = {
            "machine": host,
            "examples": [asdict(it) for it in found],
            "verdicts": [line.strip() for line in (*promised, *lines)],
        }
        chosen.json.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if all(it.agrees for it in found) else 1


if __name__ == "__main__":
    sys.exit(main())

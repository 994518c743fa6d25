"""Commands of parc in fresh interpreters -> processor time and memory, and their ratio to importing OR-Tools.

A ratio compares what was run in turn, each the best of several times, so that it says the same on a slow
machine and on a busy one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
LARGE, SMALL = str(EXAMPLES / "llama3_405b.par"), str(EXAMPLES / "gpt_125m.par")
ONE_GPU = str(EXAMPLES / "questions/one_gpu.par")
#: README's layout of its example.
LAYOUT = "tp=8,pp=4,dp_shard=2,zero=1,recompute=selective"
#: 131,072 nodes of eight GPUs.
MILLION = ("cluster.nodes=131072", "train.global_batch=131072")
#: Ends with 0 only where the command does and OR-Tools was not loaded.
WITHOUT_ORTOOLS = (
    "import sys; from parc.__main__ import main; code = main(sys.argv[1:]); "
    "sys.exit(code or 'ortools' in sys.modules)"
)


@dataclass(frozen=True)
class Run:
    """One command from start to end."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int


def environment(bytecode: Path) -> dict[str, str]:
    """The environment of an interpreter that keeps compiled modules in a folder, as an installation does."""
    found = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def run(arguments: Sequence[str], bytecode: Path) -> Run:
    """Run Python with arguments; raises `SystemExit` where it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(bytecode),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"`python {' '.join(arguments)}` ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def compiled(path: str, bytecode: Path) -> Run:
    """`parc compile` into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return run(["-m", "parc", "compile", path, "-o", f"{folder}/out"], bytecode)


def estimated() -> list[str]:
    """Arguments of the estimate of one layout."""
    example = str(EXAMPLES / "llama3_70b.par")
    return ["estimate", example, "--target", "megatron", "--layout", LAYOUT]


def estimate_loads_ortools(bytecode: Path) -> bool:
    """Whether pricing one layout loads OR-Tools."""
    try:
        run(["-c", WITHOUT_ORTOOLS, *estimated()], bytecode)
    except SystemExit:
        return True
    return False


def fastest(bytecode: Path, repeat: int) -> dict[str, Run]:
    """The run of each command with the least processor time; in each round all run in turn."""
    plan = ["-m", "parc", "plan"]
    commands = {
        "ortools": ["-c", "import ortools.sat.python.cp_model"],
        "plan of one GPU": [*plan, ONE_GPU],
        "plan": [*plan, SMALL],
        "estimate": ["-m", "parc", *estimated()],
        "million": [*plan, LARGE, *(word for each in MILLION for word in ("--set", each))],
    }
    rounds: dict[str, list[Run]] = {}
    for _ in range(repeat):
        for name, arguments in commands.items():
            rounds.setdefault(name, []).append(run(arguments, bytecode))
        for name, path in (("compile", SMALL), ("large compile", LARGE)):
            rounds.setdefault(name, []).append(compiled(path, bytecode))
    return {name: min(runs, key=lambda each: each.cpu_seconds) for name, runs in rounds.items()}


def verdicts(runs: Mapping[str, Run], loads_ortools: bool) -> Iterator[tuple[bool, str]]:
    """Each promise of a command's time: whether it is kept, and what was measured."""
    cpu = {name: each.cpu_seconds for name, each in runs.items()}
    for name, over, most, text in (
        ("large compile", "ortools", 4, "compile of llama3_405b over importing OR-Tools"),
        ("plan of one GPU", "ortools", 2, "plan of one GPU over importing OR-Tools"),
        ("compile", "plan", 1.4, "compile of gpt_125m over its plan"),
    ):
        ratio = cpu[name] / cpu[over]
        yield ratio <= most, f"{text}: {ratio:.2f}, at most {most:g}"
    loaded = "loads OR-Tools" if loads_ortools else "without OR-Tools"
    yield (
        cpu["estimate"] <= 0.6 and not loads_ortools,
        f"estimate of one layout: {cpu['estimate']:.2f} s of CPU, {loaded}, at most 0.6 s and without",
    )
    seconds, size = runs["million"].wall_seconds, runs["million"].memory_bytes / 1e6
    yield seconds < 10, f"plan of 1,048,576 GPUs: {seconds:.2f} s, {size:.0f} MB, below 10 s"

"""Whole training steps on one GPU: which, by which program, and a line of the measured runs' CSV for each.
No torch: the steps run in a program of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import parc
from benchmarks.accuracy.rows import gpu_names
from benchmarks.accuracy.rows.csv_rows import Row
from parc.backends import BACKENDS
from parc.backends.pytorch_kernels import chosen_attention
from parc.calibrate.measured_run import SECONDS
from parc.calibrate.steady_state import steady_state
from parc.compiler.plan import Plan, Proof
from parc.dsl import Job, loads


@dataclass(frozen=True)
class Size:
    """A Llama: names and widths as in the CSV."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int = 32_000


@dataclass(frozen=True)
class Step:
    """`program` is `deepspeed` (parc's own train.py) or `pytorch` (torch_program.py)."""

    program: str
    size: Size
    seq_len: int
    micro_batch: int
    microbatches: int
    recompute: str


SIZES = (
    Size("Llama-160M", 12, 768, 12, 12, 2048),
    Size("Llama-1B", 16, 2048, 32, 8, 8192),
    Size("Llama-3B", 28, 3072, 24, 8, 8192),
    Size("Llama-8B", 32, 4096, 32, 8, 14_336, 128_256),
)
MODES = {"deepspeed": ("none", "selective", "full"), "pytorch": ("none", "full")}
#: The largest do not fit into most GPUs: lines marked as out of memory are worth as much.
GRID = tuple(
    Step(program, size, seq_len, micro_batch, 4, recompute)
    for program, modes in MODES.items()
    for size in SIZES
    for seq_len, micro_batch in ((2048, 1), (2048, 8), (8192, 1), (8192, 4))
    for recompute in modes
)
#: Micro-batches from 1 to 8, those that decide whether the prices of 3, 5, 6 and 7 lie between powers of two
#: first.
MICRO_BATCHES = (4, 3, 2, 6, 8, 5, 7, 1)


def sweep(
    program: str, size: Size, seq_len: int, microbatches: int, recompute: str, most: int = 8
) -> tuple[Step, ...]:
    """One step for each micro-batch up to `most`, everything else alike."""
    return tuple(
        Step(program, size, seq_len, micro_batch, microbatches, recompute)
        for micro_batch in MICRO_BATCHES
        if micro_batch <= most
    )


#: The most valuable sweeps first: what is left out is left out at the end. What does not fit into 80 GB ends
#: soon.
SWEEPS = (
    *sweep("deepspeed", SIZES[1], 4096, 2, "none"),
    *sweep("pytorch", SIZES[1], 4096, 2, "none", most=7),
    *sweep("deepspeed", SIZES[2], 2048, 2, "selective"),
    *sweep("deepspeed", SIZES[2], 2048, 2, "none", most=4),
    *sweep("deepspeed", SIZES[1], 1024, 8, "none"),
    *sweep("pytorch", SIZES[2], 2048, 2, "none", most=4),
    *sweep("pytorch", SIZES[1], 1024, 8, "none"),
)
SETS = {"grid": GRID, "micro-batches": SWEEPS}
#: Steps that a program runs; the first of them warm up.
COUNT = 10
SECONDS_EACH = 900


@dataclass(frozen=True)
class Outcome:
    """`seconds` and `peak_bytes` of a step, or that memory ran out, or why there is neither."""

    seconds: float | None = None
    peak_bytes: int | None = None
    out_of_memory: bool = False
    failure: str = ""


#: Runs a command in a folder with additions to the environment -> exit code, and all that it printed.
Runner = Callable[[list[str], Path, Mapping[str, str]], tuple[int, str]]


def start(
    command: list[str], folder: Path, extra: Mapping[str, str], limit: float = SECONDS_EACH
) -> tuple[int, str]:
    """Runs a command to its end, or kills it after `limit` seconds: exit code 124."""
    try:
        ran = subprocess.run(
            command, cwd=folder, env={**os.environ, **extra}, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, f"no end after {limit:g} s"
    return ran.returncode, ran.stdout


#: Runs another program as it is, and says at its end how much memory torch's allocator gave out.
WATCHED = """
import atexit, os, runpy, sys, torch
cuda = torch.cuda.is_available()
atexit.register(lambda: print("peak_bytes", torch.cuda.max_memory_allocated() if cuda else 0, flush=True))
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
#: One rank alone, with what launch.sh sets.
ALONE = {
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "OMP_NUM_THREADS": "1",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29511",
}


def run_step(step: Step, gpu: str, runner: Runner = start) -> Outcome:
    """One step's time and memory on the GPU of this machine, a member of the standard library."""
    job = job_of(step, gpu)
    with tempfile.TemporaryDirectory() as folder:
        command = COMMANDS[step.program](step, job, Path(folder))
        code, text = runner([sys.executable, "-c", WATCHED, *command], Path(folder), ALONE)
    return outcome(job, code, text)


def job_of(step: Step, gpu: str) -> Job:
    size = step.size
    return loads(
        f"model {{ layers = {size.layers}; hidden = {size.hidden}; heads = {size.heads}\n"
        f"  kv_heads = {size.kv_heads}; ffn = {size.ffn}; vocab = {size.vocab} }}\n"
        f"cluster {{ gpu = std.{gpu}; nodes = 1; gpus_per_node = 1; network = 50 GB/s }}\n"
        f"train {{ seq_len = {step.seq_len}; global_batch = {step.micro_batch * step.microbatches}\n"
        f"  steps = {COUNT}; warmup = 2 }}\ntarget deepspeed {{}}\n",
        targets={"deepspeed": BACKENDS["deepspeed"].target.options},
    )


def _deepspeed(step: Step, job: Job, folder: Path) -> list[str]:
    """parc's own files for one GPU."""
    recompute = ("none", "selective", "full").index(step.recompute)
    layout = {"micro_batch": step.micro_batch, "recompute": recompute, "zero": ZERO["deepspeed"]}
    given = Proof(status="GIVEN", objective="none", value=0, bound=0, layouts=1, seconds=0)
    estimate = parc.estimate(job, layout, "deepspeed")
    plan = Plan(job=job, target="deepspeed", estimate=estimate, proof=given)
    for path, text in BACKENDS["deepspeed"].emit(plan).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return [str(folder / "deepspeed" / "train.py"), "--log-interval", "1", "--steps", str(COUNT)]


def _pytorch(step: Step, job: Job, folder: Path) -> list[str]:
    size = step.size
    program = Path(__file__).with_name("torch_program.py")
    widths = (size.layers, size.hidden, size.heads, size.kv_heads, size.ffn, size.vocab)
    batch = (step.seq_len, step.micro_batch, step.microbatches, COUNT)
    return [str(program), *map(str, (*widths, *batch)), step.recompute]


COMMANDS = {"deepspeed": _deepspeed, "pytorch": _pytorch}


def outcome(job: Job, code: int, text: str) -> Outcome:
    """Outcome of a program's steps, by its output."""
    if re.search(r"OutOfMemoryError|CUDA.{0,20} out of memory", text):
        return Outcome(out_of_memory=True)
    log = BACKENDS["deepspeed"].reader.log(text)
    if code or log is None:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "no output")
        return Outcome(failure=f"exit code {code}: {last.strip()[:200]}")
    found = steady_state([(pace.step, SECONDS[log.unit](job, pace.value)) for pace in log.paces])
    peak = re.findall(r"^peak_bytes (\d{1,15})$", text, re.MULTILINE)
    if found is None:
        return Outcome(failure=f"{len(log.paces)} steps are too few")
    return Outcome(seconds=found.seconds, peak_bytes=int(peak[-1]) if peak else None)


#: DeepSpeed sums the gradients of several micro-batches in fp32 from stage 1 on, with nothing to divide here.
ZERO = {"deepspeed": 1, "pytorch": 0}
PROGRAMS = {"deepspeed": "DeepSpeed", "pytorch": "PyTorch"}


def row(
    number: int, step: Step, result: Outcome, gpu: str, about: str, year: int
) -> dict[str, str]:
    """A line of the CSV; what it does not know stays empty. `gpu` is named as the CSV names it."""
    size = step.size
    stated: dict[str, object] = {
        "id": f"own-{gpu.lower()}-{number:04}", "source": f"own {PROGRAMS[step.program]} {gpu}",
        "where": f"benchmarks/gpu/measure_steps.py, {about}", "year": year, "model": size.name,
        "layers": size.layers, "hidden": size.hidden, "heads": size.heads, "kv_heads": size.kv_heads,
        "ffn_hidden": size.ffn, "gated_mlp": 1, "vocab": size.vocab, "seq_len": step.seq_len,
        "gpu": gpu, "gpus": 1, "gpus_per_node": 1, "tp": 1, "sp": 0, "pp": 1, "cp": 1, "dp": 1,
        "zero_stage": ZERO[step.program], "mbs": step.micro_batch,
        "gbs": step.micro_batch * step.microbatches,
        "recompute": step.recompute, "precision": "bf16", "attention": "flash", "offload": 0,
        "oom": int(result.out_of_memory),
        "step_time_s": "" if result.seconds is None else f"{result.seconds:.5g}",
        "mem_gb": "" if not result.peak_bytes else f"{result.peak_bytes / 2**30:.3f}",
        "mem_counts": "allocated", "mem_unit": "GiB", "framework": step.program,
        "attention_kernel": chosen_attention(job_of(step, gpu_names.GPUS[gpu])),
    }  # fmt: skip
    return {name: str(stated.get(name, "")) for name in Row.__dataclass_fields__} | {
        "year": str(year)
    }

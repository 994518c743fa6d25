"""Complaints about settings of kernels and traffic that every framework's block shares."""

from collections.abc import Iterator, Mapping

from ..compiler.time.attention_kernels import PACE, runs_on
from ..dsl.diagnostics import Diagnostic
from ..dsl.job import Job

STACK = "PAR395"
CODES = {STACK: ("stack", "settings of kernels and traffic disagree, or are set in `extra`")}


def contradiction(job: Job, target: str, setting: str, message: str, cure: str) -> Diagnostic:
    """A setting of the target's block that another one, the GPU or the framework contradicts."""
    return Diagnostic(STACK, message, job.span("target", target, setting), help=cure)


def said_in_extra(job: Job, target: str, key: str, said: str) -> Diagnostic:
    """A key of `extra` that has a setting of the language."""
    return Diagnostic(
        STACK,
        f"`extra` may not set `{key}`, which would not be priced",
        job.span("target", target, "extra", key),
        help=f"set it with {said}",
    )


def runs_elsewhere(job: Job, target: str, chosen: str, kernel: str) -> Iterator[Diagnostic]:
    """`attention_kernel = chosen`, the compiler's `kernel`, on GPUs that it is not built for."""
    gpu = job.cluster.gpu
    if not runs_on(kernel, gpu.arch):
        yield contradiction(
            job,
            target,
            "attention_kernel",
            f"attention_kernel `{chosen}` does not run on {gpu.name or gpu.arch}",
            f"leave it out; it runs on {', '.join(PACE[kernel])}",
        )


def listed(words: tuple[str, ...] | list[str] | Mapping[str, object]) -> str:
    """`a, b and c`"""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last

"""Diagnostics of a job's `target torchtitan { ... }` that its types cannot express."""

from collections.abc import Iterator, Mapping

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import environment, extra, observation, stack_problems
from . import data, stack
from .options import options_of
from .releases import release
from .schema import MOVED, SECTIONS

#: Settings that the layout decides; `extra` may not contradict it.
DECIDED = frozenset(
    {
        "training.local_batch_size",
        "training.global_batch_size",
        "training.seq_len",
        "training.dtype",
        "training.dataset",
        "training.dataset_path",
        "dataloader.dataset",
        "dataloader.dataset_path",
        "validator.dataloader.dataset",
        "validator.dataloader.dataset_path",
    }
    | {
        "training.mixed_precision_param",
        "training.enable_cpu_offload",
        "activation_checkpoint.mode",
    }
    | {"model.name", "model.flavor", "experimental.custom_import", "comm.mode"}
    | {
        f"parallelism.{key}"
        for key in SECTIONS["parallelism"]
        if key.endswith(("degree", "size", "stage", "part"))
    }
    | {"parallelism.pipeline_parallel_schedule", "parallelism.fsdp_reshard_after_forward"}
)

#: What changes time or memory, and no setting of the language says.
COSTS = (
    "activation_checkpoint.", "compile.", "debug.", "experimental.", "fault_tolerance.", "parallelism.",
    "optimizer.implementation", "quantize.", "training.debug_moe_force_load_balance",
    "training.deterministic", "training.disable_cuda_graphs", "training.mixed_precision_reduce",
)  # fmt: skip

UNKNOWN, WRONG = "PAR365", "PAR393"
CODES = {
    **extra.CODES,
    **observation.CODES,
    **environment.CODES,
    **data.CODES,
    **stack_problems.CODES,
    UNKNOWN: ("unknown-setting", "a setting that torchtitan does not know"),
    WRONG: ("setting-kind", "`extra` gives a setting another kind of value than torchtitan takes"),
}

#: Kind of a setting -> what it takes, in words.
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "list": "text, names with commas between them",
}


def costs(key: str) -> bool:
    """Whether a key of `extra` changes time or memory."""
    return key.startswith(COSTS)


def problems(job: Job) -> Iterator[Diagnostic]:
    yield from observation.problems(job, "torchtitan")
    yield from data.problems(job)
    yield from environment.problems(job, ())
    yield from stack.problems(job)
    for name, value in options_of(job).extra.items():
        yield from _extra(job, name, value)


def _extra(job: Job, name: str, value: str | int | float | bool) -> Iterator[Diagnostic]:
    """A key of `extra` that the release does not know or the layout decides, or its wrong value."""
    written = release(job)
    kinds = {
        f"{section}.{key}": kind
        for section, keys in written.sections.items()
        for key, kind in keys.items()
        if kind != "lists"
    }
    span = job.span("target", "torchtitan", "extra", name)
    if name in DECIDED:
        yield extra.decided(job, "torchtitan", name)
    elif name not in kinds:
        message = f"torchtitan {written.name} has no setting `{name}`"
        yield Diagnostic(UNKNOWN, message, span, help=_place(name, kinds))
    elif not takes(kinds[name], value):
        wanted = WORDS.get(kinds[name]) or "one of " + kinds[name].replace("|", ", ")
        message = f"`{name}` takes {wanted}, not `{_shown(value)}`"
        yield Diagnostic(WRONG, message, span)


def _place(name: str, kinds: Mapping[str, str]) -> str:
    """Where the setting is in this release, or one that is spelled alike."""
    moves = {**MOVED, **{after: before for before, after in MOVED.items()}}
    if moves.get(name) in kinds:
        return f"in this release it is `{moves[name]}`"
    return did_you_mean(name, kinds) or "write section.key, such as comm.train_timeout_seconds"


def takes(kind: str, value: str | int | float | bool) -> bool:
    if isinstance(value, bool):
        return kind == "bool"
    if isinstance(value, int | float):
        return kind == "float" or (kind == "int" and float(value).is_integer())
    return kind in ("str", "list") or value in kind.split("|")


def converted(kind: str, value: str | int | float | bool) -> bool | int | float | str | list[str]:
    """The value as the framework's field holds it: 1 for a float is 1.0, names with commas are a list."""
    if kind == "list" and isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if kind == "float" else int(value)
    return value


def _shown(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

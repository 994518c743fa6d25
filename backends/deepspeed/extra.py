"""`extra` of `target deepspeed`: keys of ds_config.json that no setting of the language writes."""

from collections.abc import Iterator

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import extra
from ..extra import Value
from ..released_options import ReleasedOption, released_options
from .options import DECIDED_KEYS, options_of
from .releases import NEWEST, top_keys
from .stack import SAID_AS

IGNORED, UNKNOWN, WRONG = "PAR407", "PAR403", "PAR416"
CODES = {
    **extra.CODES,
    IGNORED: ("unknown-top-key", "a top-level key that DeepSpeed does not read"),
    UNKNOWN: ("unknown-section-key", "a key that DeepSpeed refuses"),
    WRONG: ("config-value", "a value that DeepSpeed does not take"),
}
#: Sections whose keys are no matter of DeepSpeed's time or memory.
FREE = (
    "aio", "autotuning", "comms_logger", "csv_monitor", "flops_profiler", "monitor", "checkpoint",
    "tensorboard", "wandb", "comet", "steps_per_print", "wall_clock_breakdown", "dump_state",
    "data_efficiency", "dataloader_drop_last", "disable_allgather_wait", "memory_breakdown",
)  # fmt: skip


def costs(key: str) -> bool:
    """Whether a key changes time or memory."""
    return not key.startswith(FREE)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Keys that DeepSpeed ignores or refuses or the layout decides, and values that its schema refuses."""
    known = released_options("deepspeed", NEWEST)
    for key, value in options_of(job).extra.items():
        top = key.partition(".")[0]
        span = job.span("target", "deepspeed", "extra", key)
        if key in SAID_AS:
            continue  # `stack.problems` says which setting it has
        if top not in top_keys():
            cure = did_you_mean(top, top_keys()) or "take the key out of `extra`"
            message = f"deepspeed reads no key `{top}` and would ignore it"
            yield Diagnostic(IGNORED, message, span, help=cure)
        elif key in DECIDED_KEYS or top in ("optimizer", "scheduler"):
            yield extra.decided(job, "deepspeed", key)
        elif holder := _refuses(key):
            message = (
                f"`{holder}` of DeepSpeed {NEWEST} has no key `{key.removeprefix(holder + '.')}`"
            )
            yield Diagnostic(UNKNOWN, message, span, help=extra.elsewhere("deepspeed", key, NEWEST))
        elif key in known and (words := _wanted(known[key], value)):
            message = f"`{key}` takes {words}, not `{extra.shown(value)}`"
            yield Diagnostic(WRONG, message, span)


def _refuses(key: str) -> str | None:
    """The innermost thing that a key is below and that does not have it: a checked section, or a number."""
    known = released_options("deepspeed", NEWEST)
    if key in known:
        return None
    parts = key.split(".")
    above = [".".join(parts[:size]) for size in range(len(parts) - 1, 0, -1)]
    holder = next((each for each in above if each in known), None)
    return None if holder is None or known[holder].kind in ("object", "") else holder


def _wanted(option: ReleasedOption, value: Value) -> str | None:
    """What a key takes, in words: texts are not made of numbers."""
    if option.kind == "str" and not option.choices and not isinstance(value, str):
        return "text"
    return extra.wanted(option, value)

"""`extra` of `target deepspeed`: keys of ds_config.json that no setting of the language writes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from .. import extra
from ..extra import Kinds, Value
from ..released_options import ReleasedOption, released_options
from ..written_options import file_keys, flat
from .constraints.keys import CODES as OF_ROWS
from .constraints.keys import CONSTRAINTS
from .option_rows import ROWS
from .options import options_of, written_options
from .releases import NEWEST, top_keys

IGNORED, UNKNOWN, WRONG = "PAR407", "PAR403", "PAR416"
CODES = {
    **extra.CODES,
    **OF_ROWS,
    IGNORED: ("unknown-top-key", "a top-level key that DeepSpeed does not read"),
    UNKNOWN: ("unknown-section-key", "a key that DeepSpeed refuses"),
    WRONG: ("config-value", "a value that DeepSpeed does not take"),
}
#: Top keys that are no matter of DeepSpeed's time or memory.
FREE = frozenset({
    "aio", "autotuning", "checkpoint", "comet", "comms_logger", "csv_monitor", "dataloader_drop_last",
    "dump_state", "flops_profiler", "fp16", "memory_breakdown", "steps_per_print", "tensorboard", "wandb",
    "wall_clock_breakdown",
})  # fmt: skip

#: What DeepSpeed checks by hand, in no schema of its own (runtime/config.py, checkpoint/constants.py).
CHOICES: Mapping[str, tuple[str, ...]] = {
    "checkpoint.tag_validation": ("Ignore", "Warn", "Fail"),
    "checkpoint.writer.type": ("MOCK", "PYTHON", "FAST"),
    "checkpoint.writer.data_parallel": ("REPLICA", "SOCKET", "MACHINE"),
    "compile.passes": ("z1", "z3", "autosp", "autotp"),
    "gradient_allreduce_op": ("mean", "sum"),
    "zero_optimization.zenflow.select_strategy": ("auto", "step", "epoch"),
}
#: The same of a key's kind.
KIND_OF: Mapping[str, str] = {
    **dict.fromkeys(("vocabulary_size", "steps_per_print"), "int"),
    "activation_checkpointing.number_checkpoints": "int",
    "autotuning.max_train_batch_size": "int",
    "checkpoint.parallel_write.pipeline_stage": "bool",
    "data_types.keep_in_fp32_modules": "list",
    "hybrid_engine.max_out_tokens": "count",
    "zero_optimization.zenflow.auto_ratio": "share",
    "zero_optimization.offload_optimizer.cpuadam_cores_perc": "share",
    "zero_optimization.offload_optimizer.ratio": "share",
    "zero_optimization.zenflow.pt_reserved_cores_perc": "share",
    "zero_optimization.zenflow.topk_ratio": "part",
    "zero_optimization.zenflow.select_interval": "interval",
    "zero_optimization.zenflow.update_interval": "interval",
    "data_efficiency.data_sampling.dynamic_batching.max_batch_size": "int",
}
#: Sections without a schema and without keys that DeepSpeed looks up unasked.
SECTIONS = frozenset({"curriculum_learning", "progressive_layer_drop", "timers"})
#: How the values of each kind look, and in words.
KINDS: Kinds = {
    **extra.KINDS,
    "count": (r"\+?0*[1-9]\d*", "a whole number of at least 1"),
    "share": (r"0(\.\d+)?|1", "a share, at most 1"),
    "part": (r"0(\.\d+)?", "a share below 1"),
    "interval": (r"\d+|auto", 'a whole number, or "auto"'),
    **dict.fromkeys(("object", "section"), (r"(?!)", "a table, whose keys are written with a dot")),
}


def costs(key: str) -> bool:
    """Whether a key changes time or memory."""
    return key.partition(".")[0] not in FREE


def problems(job: Job) -> Iterator[Diagnostic]:
    """Keys that DeepSpeed ignores or refuses or the layout decides, and values that its schema refuses."""
    release = options_of(job).version
    known, tops = released_options("deepspeed", release), top_keys(release)
    for key, value in options_of(job).extra.items():
        top = key.partition(".")[0]
        span = job.span("target", "deepspeed", "extra", key)
        if key in ROWS.said:
            continue  # `stack.problems` says which setting it has
        if top not in tops:
            cure = extra.elsewhere("deepspeed", top, release) or "take the key out of `extra`"
            message = f"deepspeed {release} does not read the key `{top}` and would ignore it"
            yield Diagnostic(IGNORED, message, span, help=cure)
        elif extra.among(key, ROWS.decided):
            yield extra.decided(job, "deepspeed", key)
        elif holder := _refuses(key, known):
            message = (
                f"`{holder}` of DeepSpeed {release} has no key `{key.removeprefix(holder + '.')}`"
            )
            yield Diagnostic(
                UNKNOWN, message, span, help=extra.elsewhere("deepspeed", key, release)
            )
        elif key in known and (words := _wanted(known[key], value)):
            message = f"`{key}` takes {words}, not `{extra.shown(value)}`"
            yield Diagnostic(WRONG, message, span)
    yield from written_options(job).of_extra(CONSTRAINTS, options_of(job).extra, ROWS.decided)


def broken_keys(job: Job, config: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Rows that stop DeepSpeed, broken where a key of `extra` takes part."""
    keys = {key: key for key in options_of(job).extra}
    if keys:
        yield from written_options(job).problems(CONSTRAINTS, file_keys(dict(flat(config))), keys)


def written(key: str, value: Value, release: str = NEWEST) -> Value | list[str]:
    """The value as ds_config.json has it."""
    option = released_options("deepspeed", release).get(key)
    return value if option is None else extra.typed(_described(option), value)


def _refuses(key: str, known: Mapping[str, ReleasedOption]) -> str | None:
    """The innermost thing that a key is below and that does not have it: a checked section, or a number."""
    if key in known:
        return None
    parts = key.split(".")
    above = [".".join(parts[:size]) for size in range(len(parts) - 1, 0, -1)]
    holder = next((each for each in above if each in known), None)
    return None if holder is None or known[holder].kind in ("object", "") else holder


def _wanted(option: ReleasedOption, value: Value) -> str | None:
    """The values that a key takes, in words, where this one is not among them: texts are not numbers."""
    option = _described(option)
    text = isinstance(value, str)
    if not text and str(value).startswith("-") and not option.default.startswith("-"):
        return "a number of at least 0"
    if text and not value and option.kind == "str" and not option.choices:
        return "text"
    return extra.wanted_in_file(option, value, KINDS)


@cache
def _described(option: ReleasedOption) -> ReleasedOption:
    """An option with what DeepSpeed's schema does not tell of it."""
    name, known = option.name, released_options("deepspeed", NEWEST)
    if name in CHOICES:
        return replace(option, choices=CHOICES[name])
    if name in SECTIONS or any(each.startswith(f"{name}.") for each in known):
        return replace(option, kind="section")
    return replace(option, kind=KIND_OF.get(name, option.kind))

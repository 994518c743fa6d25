"""`extra` of `target deepspeed`: keys of ds_config.json that no setting of the language writes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

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

#: What DeepSpeed checks by hand, in no schema of its own (runtime/config.py, checkpoint/constants.py).
CHOICES: Mapping[str, tuple[str, ...]] = {
    "checkpoint.tag_validation": ("Ignore", "Warn", "Fail"),
    "checkpoint.writer.type": ("MOCK", "PYTHON", "FAST"),
    "checkpoint.writer.data_parallel": ("REPLICA", "SOCKET", "MACHINE"),
    "compile.passes": ("z1", "z3", "autosp", "autotp"),
    "communication_data_type": ("fp16", "bf16", "fp32"),
    "gradient_allreduce_op": ("mean", "sum"),
    "torch_autocast.dtype": ("float16", "bfloat16"),
    "zero_optimization.zenflow.select_strategy": ("auto", "step", "epoch"),
}
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("vocabulary_size", "steps_per_print"), "int"),
    "activation_checkpointing.number_checkpoints": "int",
    "autotuning.max_train_batch_size": "int",
    "checkpoint.parallel_write.pipeline_stage": "bool",
    "data_types.keep_in_fp32_modules": "list",
    "zero_optimization.zenflow.auto_ratio": "share",
    "zero_optimization.offload_optimizer.cpuadam_cores_perc": "share",
    "zero_optimization.offload_optimizer.ratio": "share",
    "zero_optimization.zenflow.pt_reserved_cores_perc": "share",
    "zero_optimization.zenflow.topk_ratio": "part",
    "zero_optimization.zenflow.select_interval": "interval",
    "zero_optimization.zenflow.update_interval": "interval",
    "data_efficiency.data_sampling.dynamic_batching.max_batch_size": "int",
    "tensor_parallel.dtype": "unsayable",
    "tensor_parallel.injection_policy_tuple": "unsayable",
}
#: Keys that DeepSpeed wants beside one that is true.
_SAMPLING = "data_efficiency.data_sampling"
NEEDS: Mapping[str, str] = {
    f"{_SAMPLING}.dynamic_batching.enabled": f"{_SAMPLING}.dynamic_batching.max_tokens",
    f"{_SAMPLING}.curriculum_learning.enabled": f"{_SAMPLING}.curriculum_learning.curriculum_metrics",
}
#: Sections that are the job's precision, or its optimizer and schedule.
DECIDED = ("amp", "bf16", "bfloat16", "optimizer", "scheduler", "torch_autocast")
#: Sections without a schema and without keys that DeepSpeed looks up unasked.
SECTIONS = frozenset(
    {"amp", "curriculum_learning", "elasticity", "progressive_layer_drop", "timers"}
)


def costs(key: str) -> bool:
    """Whether a key changes time or memory."""
    return not key.startswith(FREE)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Keys that DeepSpeed ignores or refuses or the layout decides, and values that its schema refuses."""
    release = options_of(job).version
    known, tops = released_options("deepspeed", release), top_keys(release)
    for key, value in options_of(job).extra.items():
        top = key.partition(".")[0]
        span = job.span("target", "deepspeed", "extra", key)
        if key in SAID_AS:
            continue  # `stack.problems` says which setting it has
        if top not in tops:
            cure = did_you_mean(top, tops) or "take the key out of `extra`"
            message = f"deepspeed {release} reads no key `{top}` and would ignore it"
            yield Diagnostic(IGNORED, message, span, help=cure)
        elif key in DECIDED_KEYS or top in DECIDED:
            yield extra.decided(job, "deepspeed", key)
        elif holder := _refuses(key, known):
            message = (
                f"`{holder}` of DeepSpeed {release} has no key `{key.removeprefix(holder + '.')}`"
            )
            yield Diagnostic(
                UNKNOWN, message, span, help=extra.elsewhere("deepspeed", key, release)
            )
        elif value is True and key in NEEDS and not _has(job, NEEDS[key]):
            yield Diagnostic(WRONG, f"`{key}` needs `{NEEDS[key]}` beside it", span)
        elif key in known and (words := _wanted(known[key], value)):
            message = f"`{key}` takes {words}, not `{extra.shown(value)}`"
            yield Diagnostic(WRONG, message, span)


def _has(job: Job, key: str) -> bool:
    return any(each == key or each.startswith(f"{key}.") for each in options_of(job).extra)


def listed(key: str, value: Value) -> Value | list[str]:
    """The value as ds_config.json has it: names with commas between them are a list where one is wanted."""
    option = released_options("deepspeed", NEWEST).get(key)
    if option is None or _described(option).kind != "list":
        return value
    return [each.strip() for each in extra.text_of(value).split(",") if each.strip()]


def _refuses(key: str, known: Mapping[str, ReleasedOption]) -> str | None:
    """The innermost thing that a key is below and that does not have it: a checked section, or a number."""
    if key in known:
        return None
    parts = key.split(".")
    above = [".".join(parts[:size]) for size in range(len(parts) - 1, 0, -1)]
    holder = next((each for each in above if each in known), None)
    return None if holder is None or known[holder].kind in ("object", "") else holder


def _wanted(option: ReleasedOption, value: Value) -> str | None:
    """What a key takes, in words: texts are not made of numbers."""
    option = _described(option)
    text = isinstance(value, str)
    if option.kind in ("int", "float", "share", "part", "interval") and text and value != "auto":
        return f"{extra.KINDS[option.kind][1]}, not in quotes"
    if not text and str(value).startswith("-") and not option.default.startswith("-"):
        return "no negative number"
    if option.kind == "str" and not option.choices and not (text and value):
        return "text"
    return extra.wanted(option, value)


@cache
def _described(option: ReleasedOption) -> ReleasedOption:
    """An option with what DeepSpeed's schema does not tell of it."""
    name, known = option.name, released_options("deepspeed", NEWEST)
    if name in CHOICES:
        return replace(option, choices=CHOICES[name])
    if name in SECTIONS or any(each.startswith(f"{name}.") for each in known):
        return replace(option, kind="section")
    return replace(option, kind=KINDS.get(name, option.kind))

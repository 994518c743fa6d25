"""`extra` of `target megatron`: options of its own parser that no setting of the language writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import extra
from ..extra import Value
from ..released_options import ReleasedOption, released_options
from .emit.flags import Flag, flag
from .options import Options, options_of
from .stack import SAID_AS

UNKNOWN, WRONG = "PAR372", "PAR373"
CODES = {
    **extra.CODES,
    UNKNOWN: ("unknown-option", "an option that Megatron-LM does not have"),
    WRONG: ("option-value", "an option with a value that Megatron-LM does not take"),
}

#: What the model, the precision, the length of the run or the layout decides, in this plan or in another.
OWNED = re.compile(
    r"--("
    r"num-layers|hidden-size|seq-length|num-experts|num-query-groups|group-query-attention"
    r"|multi-latent-attention|mtp-num-layers|bf16|fp16|fp8-format|fp4-format|train-(iters|samples)|"
    r"(micro|global)-batch-size|rampup-batch-size|step-batch-size-schedule|decrease-batch-size-if-needed"
    r"|(tensor-model|pipeline-model|context|expert-model|expert-tensor)-parallel-size"
    r"|pipeline-model-parallel-(layout|split-rank)|(num-)?virtual-pipeline.*|num-(layers|virtual-stages)-per-.*"
    r"|decoder-(first|last)-pipeline-num-layers|account-for-.*-in-pipeline-split"
    r"|standalone-embedding-stage|microbatch-group-size-per-virtual-pipeline-stage"
    r"|(hierarchical-)?context-parallel-sizes|hybrid-context-parallel|sequence-parallel"
    r"|use-(distributed-optimizer|megatron-fsdp|torch-fsdp2|custom-fsdp)|data-parallel-sharding-strategy"
    r"|num-distributed-optimizer-instances|outer-dp-sharding-strategy"
    r"|recompute-(activations|granularity|method|num-layers|modules)|distribute-saved-activations"
    r"|use-tp-pp-dp-mapping|world-size|rank|local-rank"
    r")"
)
#: What changes time or memory, and no setting says: options by how they begin.
COSTS = re.compile(
    r"--("
    r"fp[48]-|moe-|cuda-graph|optimizer-|main-(grads|params)-dtype|exp-avg|use-precision-aware|cpu-offload"
    r"|fine-grained-activation-offloading|offload-modules|(no-)?overlap-|delay-(wgrad|offload)|tp-comm-"
    r"|use-nccl-ub|nccl-ub|fsdp-|megatron-fsdp|ddp-|no-.*-fusion|no-gradient-accumulation|use-fused"
    r"|empty-unused-memory-level|deterministic-mode|attention-softmax-in-fp32|accumulate-allreduce"
    r"|grad-reduce-in|use-sharp|defer-embedding|wgrad-deferral|high-priority-stream|transformer-impl"
    r"|attention-backend|cp-comm-type|keep-fp8|inprocess|enable-cuda-graph|external-cuda-graph|te-"
    r"|mtp-|reuse-grad-buf|batch-invariant|use-flash-attn|no-async-tensor"
    r")"
)


def name_of(key: str) -> str:
    """The option that a key of `extra` stands for."""
    return "--" + key.replace("_", "-")


def costs(key: str) -> bool:
    return COSTS.match(name_of(key)) is not None


def given(options: Options) -> Iterator[tuple[str, Flag]]:
    """Keys of `extra`, and the option that each writes; `false` leaves one out."""
    known = released_options("megatron", options.version)
    for key, value in options.extra.items():
        if value is not False:
            name = name_of(key)
            yield key, flag(name, *_words(known.get(name), value))


def _words(option: ReleasedOption | None, value: Value) -> list[str]:
    """The words behind an option: none behind a switch, several where it takes several."""
    if value is True:
        return []
    text = extra.text_of(value)
    return text.split() if option is not None and option.count else [text]


def problems(job: Job) -> Iterator[Diagnostic]:
    """Keys of `extra` that Megatron-LM lacks or the layout decides, and values that its parser refuses."""
    release = options_of(job).version
    known = released_options("megatron", release)
    for key, value in options_of(job).extra.items():
        span = job.span("target", "megatron", "extra", key)
        name = name_of(key)
        if name in SAID_AS:
            continue  # `stack.problems` says which setting it has
        if OWNED.fullmatch(name):
            yield extra.decided(job, "megatron", key)
        elif name not in known:
            message = f"Megatron-LM {release} has no option `{name}`"
            yield Diagnostic(
                UNKNOWN, message, span, help=extra.elsewhere("megatron", name, release)
            )
        elif value is not False and (words := _wanted(known[name], value)):
            message = f"`{name}` takes {words}, not `{extra.shown(value)}`"
            choices = known[name].choices
            cure = did_you_mean(str(value), choices) if choices else None
            yield Diagnostic(WRONG, message, span, help=cure)


def _wanted(option: ReleasedOption, value: Value) -> str | None:
    """What an option takes, in words, where the value is not that."""
    if option.kind == "switch":
        return None if value is True else "no value: write `true`"
    if value is True:
        return extra.wanted(option, "") or "a value"
    words = _words(option, value)
    if option.count.isdigit() and len(words) != int(option.count):
        return f"{option.count} values"
    if option.count == "+" and not words:
        return "a value or more"
    dashes = [word for word in words if word.startswith("-") and not re.fullmatch(r"-\d+", word)]
    if dashes:
        return "nothing that begins with a dash, which is an option to its parser"
    return next((said for word in words if (said := extra.wanted(option, word))), None)

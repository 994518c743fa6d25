"""`extra` of `target megatron`: options of its own parser that no setting of the language writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import extra
from ..extra import Kinds, Value
from ..released_options import ReleasedOption, released_options
from .emit.flags import Flag, flag
from .older_options import REPLACED
from .option_rows import ROWS
from .options import Options, option_name, options_of

UNKNOWN, WRONG = "PAR372", "PAR373"
CODES = {
    **extra.CODES,
    UNKNOWN: ("unknown-option", "an option that Megatron-LM does not have"),
    WRONG: ("option-value", "an option with a value that Megatron-LM does not take"),
}

#: How the texts of Megatron-LM's own kinds look, by the function that reads them, and in words.
_FREQUENCY = (
    r"\d+|\(?\[[01]\](\*\d+)?(\+\[[01]\](\*\d+)?)*\)?(\*\d+)?",
    'a whole number, or text as "([0]*3+[1]*11)"',
)
KINDS: Kinds = {
    **extra.KINDS,
    **dict.fromkeys(("moe_freq_type", "la_freq_type", "no_rope_freq_type"), _FREQUENCY),
    "tuple_type": (r"-?\d+(,-?\d+)*", 'text as "128,0"'),
    "_parse_cuda_graph_modules_arg": (
        "full(_iteration(_inference)?)?|attn|mlp|moe|moe_router|moe_preprocess|mamba",
        "names of modules such as attn",
    ),
}
#: What changes time or memory, and no setting says.
COSTS = (
    # Precision.
    "--fp[48]-*", "--keep-fp8*", "--te-*", "--reuse-grad-buf*", "--attention-softmax-in-fp32",
    # Experts and further tokens.
    "--moe-*", "--mtp-*",
    # The optimizer and its dtypes.
    "--optimizer-*", "--main-grads-dtype", "--main-params-dtype", "--accumulate-allreduce*",
    "--deterministic-mode", "--batch-invariant-mode",
    # What leaves the GPU.
    "--cpu-offload*", "--fine-grained-activation-offloading", "--offload-modules",
    # Kernels and how they are launched.
    "--cuda-graph*", "--enable-cuda-graph", "--external-cuda-graph", "--inprocess*", "--no-*-fusion",
    "--transformer-impl", "--attention-backend", "--use-flash-attn", "--use-fused*",
    "--fused-residual-rmsnorm", "--use-te-activation-func",
    "--empty-unused-memory-level", "--high-priority-*",
    # Traffic.
    "--overlap-*", "--no-overlap-*", "--delay-*", "--tp-comm-*", "--use-nccl-ub", "--fsdp-*",
    "--megatron-fsdp-*", "--ddp-*", "--use-sharp", "--defer-embedding*", "--wgrad-deferral*",
    "--no-scatter-gather-tensors-in-pipeline", "--pipeline-model-parallel-comm-backend",
)  # fmt: skip


def costs(key: str) -> bool:
    """Whether a key changes time or memory."""
    return extra.among(option_name(key), COSTS)


def given(options: Options) -> Iterator[tuple[str, Flag]]:
    """Keys of `extra`, and the option that each writes; `false` leaves one out."""
    known = released_options("megatron", options.version)
    for key, value in options.extra.items():
        if value is not False:
            name = option_name(key)
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
        name = option_name(key)
        if name in ROWS.said:
            continue  # `stack.problems` says which setting it has
        today = _today(name)
        if today in ROWS.decided:
            yield extra.decided(job, "megatron", key)
        elif today != name:
            message = f"`{name}` is another name of `{today}`"
            yield Diagnostic(UNKNOWN, message, span, help=f"write `{today.lstrip('-')}`")
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


def _today(name: str) -> str:
    """Today's name of an option that its parser has under an older one too, only to refuse it or to warn."""
    return REPLACED.get(name, ROWS.renamed.get(name, name)).partition(" ")[0]


def _wanted(option: ReleasedOption, value: Value) -> str | None:
    """The values that an option takes, in words, where this one is not among them."""
    if option.kind == "switch":
        return None if value is True else "no value: write `true`"
    if value is True:
        return extra.wanted(option, "", KINDS) or "a value"
    words = _words(option, value)
    if option.count.isdigit() and len(words) != int(option.count):
        return f"{option.count} values"
    if option.count == "+" and not words:
        return "a value or more"
    dashes = [word for word in words if word.startswith("-") and not re.fullmatch(r"-\d+", word)]
    if dashes and len(words) > 1:
        return "a list without words that begin with a dash, which its parser takes for options"
    return next((said for word in words if (said := extra.wanted(option, word, KINDS))), None)

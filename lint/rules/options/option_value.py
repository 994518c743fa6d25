"""An option has a value of the wrong kind: a word for a number, none of the legal words, no value at all,
or too many.

Why:
Megatron-LM's parser ends the job before it starts. Often a variable was empty, or a quote was lost.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers thirty-two \\
    --moe-token-dispatcher-type alltoall_seq

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --moe-token-dispatcher-type alltoall
"""

import re
from collections.abc import Iterator

from ....backends.released_options import ReleasedOption
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, Unknown
from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import megatron_options
from ...finding import Complaint
from .megatron_program import starts_megatron

CODE = "PAR373"
TITLE = "an option with a value that Megatron-LM does not take"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py"


_NUMBERS = {
    "int": r"[+-]?\d+(_\d+)*",
    "float": r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)",
}
#: Words that Megatron-LM checks itself, after its parser.
WORDS = {
    "--recompute-modules": (
        "core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts",
        "gdn_norm_out", "gdp_in_proj", "gdp_qkv", "mhc",
    ),
    "--attention-backend": ("auto", "flash", "fused", "unfused", "local"),
    "--non-persistent-ckpt-type": ("global", "local"),
    "--offload-modules": (
        "attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm", "expert_fc1", "moe_act",
        "fused_group_mlp", "gdp_qkv",
    ),
    "--cp-comm-type": ("p2p", "a2a", "allgather", "all_gather", "a2a+p2p"),
}  # fmt: skip
#: Sizes and degrees.
POSITIVE = (
    "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size",
    "--expert-model-parallel-size", "--num-layers", "--hidden-size", "--num-attention-heads",
    "--micro-batch-size", "--global-batch-size", "--seq-length", "--max-position-embeddings",
    "--ffn-hidden-size", "--num-query-groups", "--save-interval", "--num-layers-per-virtual-pipeline-stage",
)  # fmt: skip
#: Options whose words forks add to.
EXTENDED = ("--tokenizer-type",)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.framework != "megatron":
        return
    for setting in launch.all("argument"):
        option = megatron_options().get(setting.name)
        if option is not None:
            yield from _check(launch, setting, option)


def _check(launch: LaunchedJob, setting: Setting, option: ReleasedOption) -> Iterator[Complaint]:
    values = setting.values
    if any(isinstance(value, Unknown) for value in values):
        return
    texts = [str(value) for value in values]
    if not texts and option.count in ("", "+"):
        if (option.kind in _NUMBERS or option.choices) and not _expanded(launch, setting):
            yield Complaint(f"{option.name} has no value", setting)
    elif option.kind == "switch" and texts and launch.megatron:
        yield Complaint(f"{option.name} is a switch and takes no value, not `{texts[0]}`", setting)
    elif option.count == "" and len(texts) > 1 and launch.megatron and not _template(texts):
        yield Complaint(
            f"{option.name} takes one value, not {len(texts)}: {' '.join(texts[:6])}", setting
        )
    else:
        yield from _each(launch, setting, option, texts)


def _each(
    launch: LaunchedJob, setting: Setting, option: ReleasedOption, texts: list[str]
) -> Iterator[Complaint]:
    pattern = _NUMBERS.get(option.kind)
    legal = WORDS.get(option.name, option.choices)
    if not launch.megatron or option.name in EXTENDED or not starts_megatron(launch):
        legal = ()
    for text in texts:
        if option.name in POSITIVE and re.fullmatch(r"-\d+|0+", text):
            yield Complaint(f"{option.name} must be above 0, not {text}", setting)
            continue
        if not text or any(mark in text for mark in "<>$`"):
            continue
        if pattern is not None and not re.fullmatch(pattern, text) and not legal:
            kind = "whole number" if option.kind == "int" else "number"
            yield Complaint(f"{option.name} wants a {kind}, not `{text}`", setting)
        elif legal and text not in legal:
            help_text = did_you_mean(text, legal) or f"{option.name} in {{{', '.join(legal)}}}"
            yield Complaint(f"{option.name} has no value `{text}`", setting, help=help_text)


def _expanded(launch: LaunchedJob, setting: Setting) -> bool:
    """Whether a variable stands where the value should: what it holds is another rule's business."""
    span = launch.span(setting)
    if span is None:
        return True
    behind = span.source.text[span.start + len(setting.name) :][:40]
    return re.match(r"[=\s]*[\"'\\]*[$`]", behind) is not None or not behind.strip()


def lacks_values(launch: LaunchedJob) -> bool:
    """Whether values come from the script's caller, who was not asked: options may then be missing too."""
    options = megatron_options()
    return any(
        not setting.values
        and (option := options.get(setting.name)) is not None
        and option.count == ""
        and option.kind != "switch"
        for setting in launch.all("argument")
    )


def _template(texts: list[str]) -> bool:
    """Whether a placeholder with blanks stands for one value."""
    return any("<" in text or ">" in text for text in texts)

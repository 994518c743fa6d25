"""ZeRO 2 and 3 divide gradients, which a pipeline needs whole until its last micro-batch. With a pipeline
ZeRO must be 0 or 1. Megatron-DeepSpeed uses the pipeline engine even with pp 1, unless it is told --no-
pipeline-parallel.

Why:
DeepSpeed stops: "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism".

Bad:
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --num-layers 24 \\
    --pipeline-model-parallel-size 2 --deepspeed \\
    --zero-stage 2

Good:
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --num-layers 24 \\
    --pipeline-model-parallel-size 2 --deepspeed \\
    --zero-stage 1
"""

from collections.abc import Iterator
from dataclasses import replace

from ....backends.megatron.option_groups import NO_PIPELINE
from ....dsl.diagnostics import Severity
from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped
from ..options.megatron_program import is_old

CODE = "PAR401"
TITLE = "ZeRO 2 or 3 with a pipeline"
SEVERITY = "error"
STOPS = "deepspeed"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/pipe/engine.py:77; deepspeedai/DeepSpeed#568, #823; "
    "EleutherAI/gpt-neox#1251"
)
FILE = "train.sh"
TRAINING = True

#: Programs of Megatron-DeepSpeed that build a pipeline unless they are told not to; pretrain_bert.py,
#: pretrain_t5.py and pretrain_gpt2.py of older forks build none (pretrain_gpt.py:51, finetune_llama.py:46
#: of deepspeedai/Megatron-DeepSpeed@f4157bea).
_PIPELINES = ("pretrain_gpt.py", "finetune_llama.py")


# A module, and no row: Megatron-DeepSpeed uses a pipeline without a stage, which only its command shows.
def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    of_deepspeed = launch.kind.involves("deepspeed") or launch.kind.program == "gpt-neox"
    if launch.framework != "deepspeed" and not of_deepspeed:
        return
    stage, pp = launch.number("zero"), launch.number("pp")
    if stage is None or pp is None or stage < 2:
        return
    deepspeed = replace(launch, config=replace(launch.config, framework="deepspeed"))
    yield from enforced(CODE, deepspeed, vary="zero")
    if pp == 1 and launch.kind.name == "megatron-deepspeed" and _pipelined(launch):
        related = (Related("pp 1 still uses the pipeline engine", launch.facts["pp"]),)
        message = f"zero {stage} with Megatron-DeepSpeed's pipeline engine, which pp 1 uses too"
        severity: Severity | None = "warning" if is_old(launch) else None
        help_text = "--no-pipeline-parallel, or zero 1"
        yield Complaint(message, launch.facts["zero"], related, help_text, severity)


def _pipelined(launch: LaunchedJob) -> bool:
    """Whether the program uses the pipeline engine and nothing switches it off."""
    if launch.config.program not in _PIPELINES:
        return False
    if launch.given(NO_PIPELINE) or not launch.given("--deepspeed"):
        return False
    return not any("no-pipeline-parallel" in text for text in launch.config.texts.values())

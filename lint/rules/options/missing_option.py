"""An option that Megatron-LM cannot do without is missing.

Why:
It stops at start with a bare assertion. Where the release is named that is an error. Else the four options
that every release has needed are a warning, and the others a hint.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 \\
    --max-position-embeddings 4096 --train-iters 1000 --lr 3e-4 \\
    --tokenizer-type NullTokenizer --vocab-size 32000 --bf16

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --seq-length 4096 \\
    --max-position-embeddings 4096 --micro-batch-size 1 --train-iters 1000 --lr 3e-4 \\
    --tokenizer-type NullTokenizer --vocab-size 32000 --bf16
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import (
    ALWAYS,
    ELSEWHERE,
    FOLDERS,
    HAS_DEFAULT,
    NEEDED,
)
from ....reading.facts import Unknown
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place
from .megatron_program import starts_megatron
from .option_value import lacks_values

CODE = "PAR374"
TITLE = "an option that Megatron-LM needs is missing"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1312-1330"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "megatron=0.19")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    options = launch.all("argument")
    if not launch.megatron or launch.given(*ELSEWHERE) or not options or lacks_values(launch):
        return
    if any(
        option.name == "" or any(isinstance(v, Unknown) for v in option.values)
        for option in options
        if option.name not in FOLDERS
    ):
        return
    missing = [names[0] for names in NEEDED if not launch.given(*names)]
    # A command that gives few of them leaves them to a wrapper.
    named = [name for name in missing if name != HAS_DEFAULT]
    if not named or len(missing) > 2 or not starts_megatron(launch):
        return
    first = options[0]
    place = Place(first.path, first.line, first.column, len(first.name))
    always = all(name in ALWAYS for name in named)
    severity = launch.release("megatron").severity("warning" if always else "info")
    verb = "is" if len(named) == 1 else "are"
    yield Complaint(f"{' and '.join(named)} {verb} missing", place, severity=severity)

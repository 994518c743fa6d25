"""A training of Megatron-LM without --bf16 or --fp16.

Why:
Megatron-LM then trains in fp32: tensor cores compute products in TF32 or not at all, 2 to 16 times slower,
and weights, gradients and activations take twice the memory. It is said of scripts that state the length of
the training, its learning rate and its GPUs, and so leave little out.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --micro-batch-size 1 --global-batch-size 64 --train-iters 1000 --lr 1e-4 --tokenizer-type NullTokenizer

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --micro-batch-size 1 --global-batch-size 64 --train-iters 1000 --lr 1e-4 --tokenizer-type NullTokenizer \\
    --bf16
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import LENGTHS, NARROW, PRECISION_ELSEWHERE
from ....backends.megatron.option_rows import HALVES, ROWS, TOKENIZER
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR505"
TITLE = "a training in fp32"
SEVERITY = "warning"
SOURCE = (
    "NVIDIA/Megatron-LM#1000; NVIDIA A100 and H100 datasheets: fp32, TF32 and bf16 tensor cores"
)
SINCE = "2026-12"
TRAINING = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    release = launch.release("megatron")
    if not launch.megatron or launch.kind.variant or release.fork is not None or release.forks:
        return
    if launch.number("gpus") is None or not launch.config.program.startswith("pretrain"):
        return
    lengths, rate = launch.option(*LENGTHS), launch.option(
        ROWS.setting("train", "learning_rate").name
    )
    whole = rate is not None and launch.given(TOKENIZER) and launch.given("--num-layers")
    if lengths is None or not whole or text_of(lengths) in (None, "0"):
        return
    if launch.given(*NARROW, *PRECISION_ELSEWHERE) or any(map(launch.may_be_given, HALVES)):
        return
    message = "neither --bf16 nor --fp16: the training is in fp32"
    yield Complaint(message, lengths, help=HALVES[0])

"""Launch scripts, options and logs of Megatron-LM and its forks -> facts in the compiler's words."""

from ...reader import Reader
from .answers import ANSWERS, fork
from .described import model, train
from .jobs import job
from .log import read_log

READER = Reader(
    recognise=job,
    log=read_log,
    telling="--tensor-model-parallel-size|--(?:tensor-)?model-parallel-size",
    model=model,
    train=train,
    answers=ANSWERS,
    fork=fork,
)

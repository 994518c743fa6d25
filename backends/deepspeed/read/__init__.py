"""DeepSpeed configs, the commands that name them, parc's own train.py, and its log -> facts."""

import re

from ...reader import ConfigFile, Reader
from .described import model, train
from .jobs import alone, job
from .log import read_log

KEYS = "zero_optimization|train_micro_batch_size_per_gpu|train_batch_size|zero_allow_untested_optimizer"
READER = Reader(
    recognise=job,
    log=read_log,
    configs=(ConfigFile("json", alone, re.compile(f'"(?:{KEYS})"')),),
    model=model,
    train=train,
)

"""DeepSpeed configs, the commands that name them, parc's own train.py, and its log -> facts."""

import re

from ...dated import Dated, installed
from ...reader import ConfigFile, Reader
from .described import model, train
from .expressed import unexpressed
from .jobs import alone, job
from .log import read_log
from .target_block import options

KEYS = "zero_optimization|train_micro_batch_size_per_gpu|train_batch_size|zero_allow_untested_optimizer"
#: What the emitted scripts set.
VARIABLES = frozenset({"PYTORCH_CUDA_ALLOC_CONF", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"})
READER = Reader(
    recognise=job,
    log=read_log,
    configs=(ConfigFile("json", alone, re.compile(f'"(?:{KEYS})"')),),
    model=model,
    train=train,
    options=options,
    unexpressed=unexpressed,
    variables=VARIABLES,
    dated=Dated("DeepSpeed", "json", re.compile(installed("deepspeed"))),
)

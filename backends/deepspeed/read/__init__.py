"""DeepSpeed configs, the commands that name them, parc's own train.py, and its log -> facts."""

import re

from ...dated import Dated, installed
from ...environment import RECORDER
from ...reader import ConfigFile, Reader
from . import accelerate, trainer_yaml
from .described import model, train
from .discovered import is_config
from .expressed import says
from .jobs import alone, job
from .kept import kept, layout_at
from .log import read_log
from .target_block import options

#: What the emitted scripts set.
VARIABLES = frozenset(
    {
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
        *(each.name for each in RECORDER),
    }
)
READER = Reader(
    recognise=job,
    log=read_log,
    launcher_file=accelerate.of_program,
    configs=(
        ConfigFile("json", alone, is_config),
        ConfigFile("yaml", accelerate.alone, accelerate.is_config),
        ConfigFile("yml", accelerate.alone, accelerate.is_config),
        ConfigFile("yaml", trainer_yaml.alone, trainer_yaml.is_config),
        ConfigFile("yml", trainer_yaml.alone, trainer_yaml.is_config),
    ),
    model=model,
    train=train,
    options=options,
    says=says,
    variables=VARIABLES,
    kept=kept,
    layout_at=layout_at,
    dated=Dated("DeepSpeed", "json", "deepspeed", re.compile(installed("deepspeed"))),
)

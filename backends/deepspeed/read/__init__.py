"""DeepSpeed configs, the commands that name them, parc's own train.py, and its log -> facts."""

import re

from ...dated import Dated, installed
from ...environment import RECORDER
from ...huggingface import accelerate
from ...huggingface.kept import kept, layout_at
from ...huggingface.trainer_command import of_program
from ...huggingface.trainer_yaml import is_config as is_trainer
from ...reader import ConfigFile, Reader
from . import trainer_yaml
from .described import model, train
from .discovered import is_config
from .expressed import says
from .jobs import alone, job
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
    launcher_file=of_program,
    configs=(
        ConfigFile("json", alone, is_config),
        ConfigFile("yaml", accelerate.alone, accelerate.is_config),
        ConfigFile("yml", accelerate.alone, accelerate.is_config),
        ConfigFile("yaml", trainer_yaml.alone, is_trainer),
        ConfigFile("yml", trainer_yaml.alone, is_trainer),
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

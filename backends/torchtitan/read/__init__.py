"""torchtitan's TOML files, Python configurations, commands and logs -> facts in the compiler's words."""

import re

from ...dated import Dated, installed
from ...reader import ConfigFile, Reader
from .described import model, train
from .discovered import is_config
from .expressed import unexpressed
from .jobs import alone, alone_in_python, job
from .log import read_log
from .target_block import options

#: What the emitted scripts set.
VARIABLES = frozenset({"PYTORCH_ALLOC_CONF", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"})
READER = Reader(
    recognise=job,
    log=read_log,
    configs=(
        ConfigFile("toml", alone, is_config),
        ConfigFile("py", alone_in_python),
    ),
    model=model,
    train=train,
    options=options,
    unexpressed=unexpressed,
    variables=VARIABLES,
    dated=Dated("torchtitan", "toml", re.compile(installed("torchtitan"))),
)

"""torchtitan's TOML files, Python configurations, commands and logs -> facts in the compiler's words."""

import re

from ...reader import ConfigFile, Reader
from .described import model, options, train
from .jobs import alone, alone_in_python, job
from .log import read_log

SECTIONS = "training|parallelism|experimental|activation_checkpoint"
READER = Reader(
    recognise=job,
    log=read_log,
    configs=(
        ConfigFile("toml", alone, re.compile(rf"(?m)^\s*\[(?:{SECTIONS})\]")),
        ConfigFile("py", alone_in_python),
    ),
    model=model,
    train=train,
    options=options,
)

"""torchtitan's TOML files, Python configurations, commands and logs -> facts in the compiler's words."""

import re

from ...backend import when_called
from ...dated import Dated, installed
from ...reader import ConfigFile, Reader

#: What the emitted scripts set.
VARIABLES = frozenset({"PYTORCH_ALLOC_CONF", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"})
#: What programs that read other files divide as torchtitan does, without copies of key and value heads:
#: huggingface/nanotron@2411b02 src/nanotron/models/llama.py:348, :352.
ARITHMETIC = {"nanotron": frozenset({"PAR111", "PAR112"})}
READER = Reader(
    recognise=when_called(f"{__name__}.jobs", "job"),
    log=when_called(f"{__name__}.log", "read_log"),
    configs=(
        ConfigFile(
            "toml",
            when_called(f"{__name__}.jobs", "alone"),
            when_called(f"{__name__}.discovered", "is_config"),
        ),
        ConfigFile("py", when_called(f"{__name__}.jobs", "alone_in_python")),
    ),
    model=when_called(f"{__name__}.described", "model"),
    train=when_called(f"{__name__}.described", "train"),
    options=when_called(f"{__name__}.target_block", "options"),
    says=when_called(f"{__name__}.expressed", "says"),
    unread=when_called(f"{__name__}.unread_arguments", "unread"),
    arithmetic=ARITHMETIC,
    kept=when_called(f"{__name__}.kept", "kept"),
    variables=VARIABLES,
    dated=Dated("torchtitan", "toml", "torchtitan", re.compile(installed("torchtitan"))),
)

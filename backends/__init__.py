"""`Plan` -> launch files and back, one module per framework and launcher, listed here."""

from .backend import Backend, Launcher
from .deepspeed import BACKEND as DEEPSPEED
from .megatron import BACKEND as MEGATRON
from .reader import Reader
from .slurm import LAUNCHER as SLURM
from .torchtitan import BACKEND as TORCHTITAN
from .verl import READER as VERL

#: By the name in `target NAME { ... }`, in the order of reports.
BACKENDS: dict[str, Backend] = {
    "megatron": MEGATRON,
    "deepspeed": DEEPSPEED,
    "torchtitan": TORCHTITAN,
}

#: By the name in `launch NAME { ... }`.
LAUNCHERS: dict[str, Launcher] = {
    "slurm": SLURM,
}

#: Programs that are read and not written, by name: each trains with several frameworks.
READ_ONLY: dict[str, Reader] = {
    "verl": VERL,
}

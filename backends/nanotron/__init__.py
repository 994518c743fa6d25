"""nanotron's YAML, which configures a training: read, and never written."""

from ..backend import when_called
from ..reader import ConfigFile, Program, Reader
from .jobs import alone, is_config, job

#: huggingface/nanotron@2411b02 src/nanotron/parallel/context.py (the mesh); 1F1B asks for all but one of a
#: pipeline's ranks, src/nanotron/parallel/pipeline_parallel/engine.py:252.
PROGRAM = Program(
    "nanotron", "nanotron", "megatron", mesh=("dp", "pp", "cp", "tp"), unfilled={"1f1b": 1}
)
READER = Reader(
    recognise=job,
    log=lambda text: None,
    configs=(ConfigFile("yaml", alone, is_config), ConfigFile("yml", alone, is_config)),
    model=when_called(f"{__name__}.described", "model"),
    train=when_called(f"{__name__}.described", "train"),
    says=when_called(f"{__name__}.described", "says"),
    program=PROGRAM,
)

__all__ = ["READER"]

"""accelerate in `parc smoke`: what it needs, its settings for a small run, and its log line of a step."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...dsl.job import Job
from ...dsl.settings import Data
from ..smoke_run import SmokeRun
from ..smoke_text import write_tokens
from .options import ACCELERATE, BITSANDBYTES, PEFT, TRANSFORMERS, TRL, Options, options_of

PACKAGES = ("torch", "accelerate", "transformers", "trl", "peft")
QUANTIZES = "bitsandbytes"


def needs(job: Job) -> tuple[str, ...]:
    return (*PACKAGES, QUANTIZES) if job.train.tune == "qlora" else PACKAGES


def settings(job: Job, folder: Path, gpus: bool) -> Options:
    tokens = folder / "tokens.bin"
    write_tokens(tokens)
    changed = {
        "data": Data(parts=((str(tokens), 1.0),)),
        "data_dtype": "uint16",
        "save": str(folder / "checkpoints"),
        "log_interval": 1,
    }
    return options_of(job).model_copy(update=changed)


def install(job: Job) -> str:
    wanted = {
        "trl": TRL,
        "transformers": TRANSFORMERS,
        "accelerate": ACCELERATE,
        "peft": PEFT,
    }
    if job.train.tune == "qlora":
        wanted[QUANTIZES] = BITSANDBYTES
    return " ".join(["pip install torch", *(f"{name}=={each}.*" for name, each in wanted.items())])


def environment(job: Job, folder: Path) -> Mapping[str, str]:
    """The launcher starts processes without a GPU, each of which asks for none."""
    return {"ACCELERATE_USE_CPU": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")}


def replaced(job: Job) -> Iterator[str]:
    yield "accelerate's choice of FSDP2 by the GPUs: CPUs were divided the same way"


SMOKE = SmokeRun(
    packages=(*PACKAGES, QUANTIZES),
    needs=needs,
    install=install,
    settings=settings,
    step=re.compile(r"\bstep (\d{1,15}) of \d+: loss ([\d.]+|nan)"),
    variables=frozenset({"DATA", "SAVE", "WEIGHTS", "TENSORBOARD"}),
    replaced=replaced,
    environment=environment,
    stand_ins={"accelerate": Path(__file__).with_name("on_cpu.py")},
)

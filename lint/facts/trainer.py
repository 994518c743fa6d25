"""A job -> whether its program reads Transformers' TrainingArguments, and those that it is given."""

import re
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

from ...backends.huggingface.option_rows import (
    ACCELERATE,
    BASE,
    CONFIG_FILE,
    EVALUATES,
    TRAINER,
    option,
)
from ...reading import programs
from ...reading.facts import Setting, dashed, text_of
from .launched_job import LaunchedJob

#: The key by which LLaMA-Factory's and TRL's YAML is told from others.
MICRO = TRAINER.fact("micro_batch").name
#: `from .module import Name, Other`, of a line.
_IMPORTED = re.compile(r"^from ([\w.]+) import ([\w, ]+)", re.MULTILINE)


def reads_training_arguments(launch: LaunchedJob) -> bool:
    written = (dashed(setting.name) for setting in launch.all("argument"))
    return not launch.megatron and programs.reads_training_arguments(written)


def compares_deepspeed(launch: LaunchedJob) -> bool:
    """Whether the Trainer holds its arguments against a DeepSpeed config: `--deepspeed` names the file. As a
    switch the option is that of a program which calls DeepSpeed itself."""
    config = launch.option("--deepspeed")
    return config is not None and bool(config.values) and reads_training_arguments(launch)


def deepspeed_of_trainer(launch: LaunchedJob) -> Setting | None:
    """The setting that names the Trainer's DeepSpeed config: `--deepspeed FILE`, `deepspeed` of its YAML."""
    if compares_deepspeed(launch):
        return launch.option("--deepspeed")
    key = launch.setting("yaml", "deepspeed") if _of_yaml(launch, MICRO, BASE) else None
    return key if key is not None and key.values not in ((), ("null",)) else None


def _of_yaml(launch: LaunchedJob, *told: str) -> bool:
    """Whether the job is that of a trainer's YAML; with a DeepSpeed config it is DeepSpeed's, and one of the
    keys tells."""
    with_config = launch.framework == "deepspeed" and launch.setting("yaml", *told) is not None
    return launch.kind.program == "trainer" or with_config


def read_by_trainer(launch: LaunchedJob) -> bool:
    """Whether the Trainer reads the job's DeepSpeed config: it is told of it, or accelerate is, which hands
    it on."""
    if deepspeed_of_trainer(launch) is not None:
        return True
    named = launch.setting("yaml", CONFIG_FILE) or launch.setting("launcher", option(CONFIG_FILE))
    return named is not None and reads_training_arguments(launch)


def training_arguments(launch: LaunchedJob) -> list[Setting]:
    """As options, in the order of the files; none where the program reads others. So are the keys of a YAML
    that LLaMA-Factory or TRL reads, alone or named by a command; axolotl and ms-swift's Megatron, whose batch
    is `micro_batch_size`, have keys of their own."""
    if _of_yaml(launch, MICRO):
        if launch.setting("yaml", MICRO) is None:
            return []
        keys = [replace(each, name=f"--{each.name}") for each in launch.all("yaml")]
        return [*launch.all("argument"), *keys]
    return launch.all("argument") if reads_training_arguments(launch) else []


def trainer_argument(launch: LaunchedJob, name: str) -> Setting | None:
    """An argument of a trainer by its field's name: an option of the command, else a key of its YAML."""
    return launch.option(f"--{name.replace('_', '-')}") or launch.setting("yaml", name)


def evaluates(launch: LaunchedJob) -> Setting | None:
    """When the Trainer evaluates, by the name of any release."""
    return next(filter(None, (trainer_argument(launch, name) for name in EVALUATES)), None)


def accelerate_count(launch: LaunchedJob, fact: Literal["nodes", "gpus"]) -> Setting | None:
    """The machines or the processes that accelerate is given: by its command, else by its configuration."""
    name = ACCELERATE.fact(fact).name
    return launch.setting("launcher", option(name)) or launch.setting("yaml", name)


def is_on(setting: Setting | None) -> bool:
    """Whether a switch is given, and not with a value that turns it off."""
    if setting is None:
        return False
    return not setting.values or (text_of(setting) or "").lower() in ("true", "1", "yes")


def own_loop(launch: LaunchedJob) -> bool:
    """Whether the launched program trains by a class of its checkout that ends in Trainer and derives from
    nothing: what Transformers' Trainer makes of arguments is not what it does."""
    text, folder = launch.program_text or "", PurePath(launch.config.program_file or "").parent
    for module, names in _IMPORTED.findall(text):
        path = str(folder / f"{module.lstrip('.').replace('.', '/')}.py")
        for name in re.findall(r"\b\w+Trainer\b", names):
            own = launch.read(path) or launch.beside(path)
            if own and re.search(rf"^class {name}(?:\(\s*+(?:object\s*+)?\))?:", own, re.MULTILINE):
                return re.search(rf"\b{name}\(", text) is not None
    return False


def left_out(launch: LaunchedJob, option: str) -> bool:
    """Whether the launched program, a file beside the script, has a parser of its own that does not name the
    option and leaves out what it does not know."""
    text = launch.program_text
    if text is None or "parse_known_args(" not in text or "HfArgumentParser" in text:
        return False
    return "ArgumentParser(" in text and option.lstrip("-").replace("-", "_") not in text.replace(
        "-", "_"
    )

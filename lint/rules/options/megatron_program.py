"""Whether a job starts Megatron-LM's own training programs, whose options are known."""

from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import megatron_removed
from .removed_option import REFUSED

TRAINERS = ("pretrain_gpt.py", "pretrain_bert.py", "pretrain_t5.py")


def starts_megatron(launch: LaunchedJob) -> bool:
    return any(name in text for text in launch.config.texts.values() for name in TRAINERS)


def is_old(launch: LaunchedJob) -> bool:
    """Whether options of releases before 2024 are used, which checked less than today's."""
    lasts = (megatron_removed().get(setting.name, "") for setting in launch.all("argument"))
    return launch.given(*REFUSED) or any(last.startswith("20") for last in lasts)

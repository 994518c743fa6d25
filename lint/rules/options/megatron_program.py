"""Whether a job starts Megatron-LM's own training programs, whose options are known."""

from ...facts.launched_job import LaunchedJob

TRAINERS = ("pretrain_gpt.py", "pretrain_bert.py", "pretrain_t5.py")


def starts_megatron(launch: LaunchedJob) -> bool:
    return any(name in text for text in launch.config.texts.values() for name in TRAINERS)


def is_old(launch: LaunchedJob) -> bool:
    """Whether an option is used that was gone by 2024 (core 0.5); such releases checked less than today's."""
    release = launch.release("megatron")
    taking = (release.taking(name) for name in release.used)
    return any(not found or release.history.earlier(found[-1], "0.5") for found in taking)

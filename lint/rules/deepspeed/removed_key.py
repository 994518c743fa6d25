"""A key that DeepSpeed 0.19 removed or replaced.

Why:
0.19 stops with an error that names the key; older releases took it. Which release runs is not in the file:
name it with `--framework-version deepspeed=0.19`. Keys that are only deprecated still work.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "sparse_gradients": true,
  "zero_optimization": {"stage": 2, "cpu_offload": true}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}
}
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import DEEPSPEED_REMOVED, deepspeed_keys
from ...finding import Complaint
from .unknown_section_key import split

CODE = "PAR415"
TITLE = "a key that DeepSpeed removed or replaced"
SEVERITY = "info"
SOURCE = "DeepSpeed 0.19.8 runtime/config.py:81-130, runtime/zero/config.py"
FILE = "ds_config.json"
RELEASE_BOUND = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    release = launch.release("deepspeed")
    if release.known and release.before("0.19"):
        return
    reported: set[str] = set()
    for setting in launch.all("json"):
        gone = _gone(setting.name)
        if gone is not None and gone not in reported:
            reported.add(gone)
            severity = release.severity()
            yield Complaint(
                f"DeepSpeed 0.19 has no `{gone}`", setting, help="remove it", severity=severity
            )
        section, name = split(setting.name)
        key = deepspeed_keys().get(section, {}).get(name)
        if key is not None and key.instead and key.instead != name:
            yield Complaint(f"`{name}` is deprecated", setting, help=f"use `{key.instead}`")


def _gone(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] in DEEPSPEED_REMOVED:
        return parts[0]
    joined = ".".join(parts[:2])
    return joined if joined in DEEPSPEED_REMOVED else None

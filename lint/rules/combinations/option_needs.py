"""An option works only together with another one, which is missing.

Why:
Megatron-LM stops at start, or goes on as if the option had not been given. It is an error where the release
is named (`--framework-version`), a warning where the options are those of a release, and a hint in a fork.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \\
    --use-distributed-optimizer

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --overlap-param-gather \\
    --use-distributed-optimizer --overlap-grad-reduce
"""

from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ..options.option_value import lacks_values
from .megatron_pairs import NEEDS, Above, Need

CODE = "PAR303"
TITLE = "an option without another one that it needs"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py, transformer_config.py: each "
    "row names its line"
)
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "megatron=0.19")


#: The first release that rows without `since` speak of.
OLDEST = "0.4"


#: An inference or a converter takes it from the checkpoint.
_SIZE = "--num-experts"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.megatron or lacks_values(launch):
        return
    release = launch.release("megatron")
    for need in NEEDS:
        setting = launch.option(need.option)
        if setting is None or not _meant(need, setting, launch) or _met(need, launch):
            continue
        if not launch.may_train and _SIZE in need.needs:
            continue
        if release.before(need.since or OLDEST):
            continue
        severity: Severity = need.severity
        if severity == "error" and not release.known:
            meant = release.since(need.since) if need.since else release.upstream
            severity = "warning" if meant else "info"
        value = f" {need.value}" if isinstance(need.value, str) else ""
        wanted = " or ".join(need.needs)
        message = f"{setting.name}{value} needs {wanted}" + (f": {need.why}" if need.why else "")
        yield Complaint(message, setting, help=f"add {need.needs[0]}", severity=severity)


def _meant(need: Need, setting: Setting, launch: LaunchedJob) -> bool:
    """Whether the option has the value that the row is about."""
    if need.value is None:
        return True
    text = text_of(setting)
    if need.value is Above.ONE:
        return (number_of(setting) or 0) > 1
    if need.value is Above.FP32:
        return text is not None and text != "fp32"
    return text == need.value


def _met(need: Need, launch: LaunchedJob) -> bool:
    return any(_has(wanted, launch) for wanted in need.needs)


def _has(wanted: str, launch: LaunchedJob) -> bool:
    name, _, value = wanted.partition(" ")
    setting = launch.option(name)
    if setting is None:
        return launch.may_be_given(name)
    return not value or text_of(setting) in (None, value)

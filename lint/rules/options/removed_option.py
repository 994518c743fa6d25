"""The option no longer exists: Megatron-LM renamed or removed it.

Why:
Its parser takes no abbreviations and no unknown options, so the job ends at once. Which release runs a
script is not in the script: name it with `--framework-version megatron=0.19` to make this an error, or an
older release to silence it. `--fix` renames what has a new name with the same meaning.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --use-custom-fsdp \\
    --data-parallel-sharding-strategy optim_grads

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --use-megatron-fsdp \\
    --ckpt-format fsdp_dtensor --data-parallel-sharding-strategy optim_grads
"""

from collections.abc import Iterator

from ....backends.megatron.older_options import REPLACED, UNSAFE
from ....backends.megatron.option_rows import ROWS
from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...facts.release import spoken
from ...facts.vocabulary import megatron_removed
from ...finding import Complaint, Edit

CODE = "PAR371"
TITLE = "an option that Megatron-LM no longer has"
SEVERITY = "info"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:556-584; tags core_v0.4.0 to "
    "core_v0.19.0"
)
RELEASE_BOUND = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.megatron:
        return
    release = launch.release("megatron")
    for setting in launch.all("argument"):
        last = megatron_removed().get(setting.name)
        if last is None and setting.name not in release.dated.refused:
            continue
        if release.known and release.fork is None and not _gone(launch, setting.name):
            continue
        if release.fork is not None and release.takes(setting.name):
            continue
        if launch.declares(setting.name):
            continue
        yield _complaint(launch, setting, last)


def _gone(launch: LaunchedJob, name: str) -> bool:
    """Whether the release that is known comes after those that took an option."""
    release = launch.release("megatron")
    first = release.dated.refused.get(name) or release.history.after(release.taking(name)[-1])
    return not release.before(first)


def _complaint(launch: LaunchedJob, setting: Setting, last: str | None) -> Complaint:
    release = launch.release("megatron")
    instead = REPLACED.get(setting.name) or ROWS.renamed.get(setting.name)
    since = "" if last is None else f": {spoken(last)} was the last release with it"
    help_text = f"use {instead}" if instead else "remove it"
    severity = release.severity()
    safe = bool(instead) and setting.name not in UNSAFE
    edits = renaming(launch, setting, instead) if safe and instead else ()
    message = f"{setting.name} is not in {release.newest}{since}"
    return Complaint(message, setting, help=help_text, severity=severity, edits=edits)


def renaming(launch: LaunchedJob, setting: Setting, name: str) -> tuple[Edit, ...]:
    """The edit that writes another name, where the name itself stands in the file."""
    span = launch.span(setting)
    if span is None:
        return ()
    text = span.source.text
    end = span.start + len(setting.name)
    if text[span.start : end] != setting.name:
        return ()
    return (Edit(setting.path, span.start, end, name),)

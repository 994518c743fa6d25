"""The option is none of Megatron-LM's, and resembles one that is.

Why:
Megatron-LM takes no abbreviations and no unknown options: the job ends before it starts. Options that
resemble nothing are taken for a fork's own, and not reported.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --tensor-model-parallel-sise 8

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --tensor-model-parallel-size 8
"""

import difflib
from collections.abc import Iterator

from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...facts.vocabulary import MEGATRON, megatron_known, megatron_options
from ...finding import Complaint
from .megatron_program import starts_megatron
from .removed_option import renaming

CODE = "PAR372"
TITLE = "an option that Megatron-LM does not have"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py (allow_abbrev=False)"


#: How alike two words must be to be taken for the same; forks add options of their own.
_ALIKE = 0.66


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.megatron or not starts_megatron(launch):
        return
    for setting in launch.all("argument"):
        name = setting.name.partition("=")[0]
        if not name.startswith("--") or name in megatron_known():
            continue
        if name.replace("_", "-") in megatron_known() or name.replace("-", "_") in megatron_known():
            yield from _underscores(launch, setting, name)
            continue
        near = nearest(name, tuple(megatron_options()))
        message = f"Megatron-LM has no option {name}"
        if near is not None:
            edits = renaming(launch, setting, near)
            yield Complaint(message, setting, help=f"did you mean {near}?", edits=edits)
        elif "megatron" in launch.versions or launch.generated:
            # A release that is named, or parc's own file, is no fork with options of its own.
            yield Complaint(f"{message} in {MEGATRON}", setting)


def _underscores(launch: LaunchedJob, setting: Setting, name: str) -> Iterator[Complaint]:
    """Forks read `--num_layers`; Megatron-LM itself does not, so only a release that is named is meant."""
    dashed = name.replace("_", "-")
    if "megatron" in launch.versions and dashed in megatron_options():
        message = f"Megatron-LM has no option {name}"
        yield Complaint(message, setting, help=f"did you mean {dashed}?")


def nearest(name: str, known: tuple[str, ...]) -> str | None:
    """The option for which a name is a slip: the same words but one, and that one alike."""
    near = [option for option in known if _slip(name, option)]
    return near[0] if len(near) == 1 else _closest(name, near) or _abbreviated(name, known)


def _closest(name: str, near: list[str]) -> str | None:
    found = difflib.get_close_matches(name, near, n=1, cutoff=0)
    return found[0] if found else None


def _slip(name: str, option: str) -> bool:
    words, others = name.split("-"), option.split("-")
    if len(words) != len(others):
        return name.replace("-", "") == option.replace("-", "")
    differing = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and _alike(*differing[0])


def _alike(word: str, other: str) -> bool:
    if min(len(word), len(other)) < 4:
        return sorted(word) == sorted(other)
    return difflib.SequenceMatcher(None, word, other).ratio() >= _ALIKE


def _abbreviated(name: str, known: tuple[str, ...]) -> str | None:
    """The one option that a long abbreviation stands for."""
    longer = [option for option in known if option.startswith(f"{name}-")]
    return longer[0] if len(longer) == 1 and len(name) >= len(longer[0]) // 2 else None

"""The option is none of Megatron-LM's, and resembles one that is.

Why:
Megatron-LM takes no abbreviations and no unknown options: the job ends before it starts. Where the release is
named (`--framework-version`, `fork`), every option that it lacks is an error. Else a slip of one or two
letters is a warning, and options that resemble nothing are taken for a fork's own, and not reported.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --tensor-model-parallel-sise 8

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --tensor-model-parallel-size 8
"""

import difflib
from collections.abc import Iterator

from ....dsl.diagnostics import Severity
from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...facts.release import Release, spoken
from ...facts.vocabulary import megatron_known, megatron_options, megatron_programs
from ...finding import Complaint
from ...releases.forks import fork_table
from .megatron_program import starts_megatron
from .removed_option import renaming
from .slips import distance

CODE = "PAR372"
TITLE = "an option that Megatron-LM does not have"
SEVERITY = "error"
SOURCE = "NVIDIA/Megatron-LM, megatron/arguments.py since v2.0 (allow_abbrev=False)"
RELEASE_BOUND = True
OPTIONS = ("--framework-version", "megatron=0.19")


#: How alike two words must be to be taken for the same; forks add options of their own.
_ALIKE = 0.66


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.megatron or not starts_megatron(launch):
        return
    release = launch.release("megatron")
    judge = _of_known if release.known else _of_any
    for setting in launch.all("argument"):
        name = setting.name.partition("=")[0]
        said = judge(launch, setting, name) if name.startswith("--") else ()
        yield from (each for each in said if not launch.declares(name))


def _of_known(launch: LaunchedJob, setting: Setting, name: str) -> Iterator[Complaint]:
    """Options that the release or the fork does not have; another rule judges those that it no longer has."""
    release = launch.release("megatron")
    if release.takes(name) or name in megatron_programs():
        return
    if name in release.history:
        if release.possible and release.history.earlier(*_order(release, name)):
            first = release.taking(name)[0]
            message = f"{release.said} has no option {name}: {spoken(first)} is the first with it"
            yield Complaint(message, setting, help="remove it", severity="error")
        return
    near = nearest(name, _options(release))
    edits = renaming(launch, setting, near) if near else ()
    help_text = f"did you mean {near}?" if near else None
    message = f"{release.said} has no option {name}"
    yield Complaint(message, setting, help=help_text, edits=edits, severity="error")


def _order(release: Release, name: str) -> tuple[str, str]:
    return release.possible[-1], release.taking(name)[0]


def _options(release: Release) -> tuple[str, ...]:
    own = (name for name in fork_table().by_name if release.takes(name)) if release.fork else ()
    return (*(name for name in release.history.names if release.takes(name)), *own)


def _of_any(launch: LaunchedJob, setting: Setting, name: str) -> Iterator[Complaint]:
    """A name that no release, no fork and no other program has, and that resembles one of today's."""
    if {name, name.replace("_", "-"), name.replace("-", "_")} & megatron_known():
        return
    near = nearest(name, tuple(megatron_options()))
    if near is not None:
        severity: Severity = "warning" if _is_slip(name, near) else "info"
        edits = renaming(launch, setting, near)
        message = f"Megatron-LM has no option {name}"
        help_text = f"did you mean {near}?"
        yield Complaint(message, setting, help=help_text, edits=edits, severity=severity)


def _is_slip(name: str, near: str) -> bool:
    """Whether two edits, of a letter each, make the one of the other, or the name was only cut short."""
    return distance(name, near) <= 2 or near.startswith(f"{name}-")


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

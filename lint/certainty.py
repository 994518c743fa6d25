"""A complaint -> what keeps it from being certain; nothing where the run stops, or does something else than
its files say, for sure.

Certain is what a framework stops for, where the release is known or every release that has the job's options
does so, and where every value that decides it is the run's own: no default that a caller may replace, and no
fork that may count otherwise.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..backends import BACKENDS
from ..dsl.diagnostics import Severity
from ..reading import programs
from ..reading.facts import Fact, Setting
from .facts.launched_job import LaunchedJob
from .facts.release import Release, dated
from .finding import At, Complaint

#: What `Rule.stops` is, where no framework's release decides it: bash, SLURM, a parser of files, arithmetic.
ITSELF = "itself"
#: The same, where the job's own framework decides it.
OWN = "own"
#: Facts that are made of how many nodes and GPUs there are.
_WORLD = ("nodes", "gpus_per_node")
_OF_WORLD = frozenset({"gpus", "dp", "dp_shard", "dp_replicate", "microbatches"})
#: Fact -> words of options that change how it is counted, each as one of many.
_WORDS = {
    "layers": "layer block stage",
    "pp": "pipeline pp stage",
    "vpp": "virtual chunk interleaved vpp",
    "tp": "tensor tp",
    "cp": "context cp ulysses",
    "ep": "expert ep",
    "experts": "expert moe",
    "heads": "head attention",
    "kv_heads": "head kv group",
    "seq_len": "seq sequence length",
    "micro_batch": "batch",
    "global_batch": "batch",
    "gpus": "world gpu node",
    "ffn": "ffn",
    "hidden": "hidden",
}
#: What the number of GPUs divides: a job that breaks such a rule on one node breaks it on several.
_DIVIDED = _OF_WORLD - {"gpus"}


@dataclass(frozen=True)
class Doubt:
    """A reason why a complaint is not certain, as a clause, and the highest level that is left."""

    text: str
    level: Severity = "warning"


def doubts(launch: LaunchedJob, stops: str, complaint: Complaint) -> tuple[Doubt, ...]:
    """The strongest first. `stops` is the framework that stops, or `OWN` or `ITSELF`."""
    framework = complaint.framework or (launch.framework if stops == OWN else stops)
    places = [complaint.at, *(each.at for each in complaint.related)]
    doubted = [
        *(doubt for at in places for doubt in _of_value(launch, at)),
        *_of_program(launch, stops, places),
        *_of_release(launch, framework, complaint),
        *(Doubt(f"a guard ends the script before it: {stop.test}") for stop in launch.config.stops),
    ]
    return tuple(sorted(dict.fromkeys(doubted), key=lambda doubt: doubt.level != "info"))


def of_default(launch: LaunchedJob, complaint: Complaint) -> Doubt | None:
    """The doubt in what a Python program has as a default, whether it stops the run or not."""
    places = [complaint.at, *(each.at for each in complaint.related)]
    doubted = (doubt for at in places for doubt in _of_value(launch, at) if doubt.level == "info")
    return next(doubted, None)


def _of_program(launch: LaunchedJob, stops: str, places: list[At]) -> Iterator[Doubt]:
    """A converter is no run: one process may stand for all ranks, and its layout need not train."""
    of_layout = stops != ITSELF or any(isinstance(at, Fact) for at in places)
    if of_layout and programs.purpose(launch.config.program) == programs.CONVERSION:
        yield Doubt(f"{launch.config.program} converts checkpoints", "info")


def _of_release(
    launch: LaunchedJob, framework: str | None, complaint: Complaint
) -> Iterator[Doubt]:
    if framework is None or dated(framework) is None:
        return
    release, since, until = launch.release(framework), complaint.since, complaint.until
    if release.release is not None:
        return
    title, foreign = release.title, _foreign(launch, framework, release)
    about = _about(complaint)
    if near := next((name for name in foreign if _words(name) & about), None):
        yield Doubt(f"`{near}` is not an option of {title}, and may change what is checked", "info")
    elif release.fork is not None:
        yield Doubt(f"the fork {release.fork} may check otherwise")
    elif release.forks:
        yield Doubt(f"the job looks like one of a fork of {title}, {release.forks[0]}")
    elif foreign:
        yield Doubt(f"`{foreign[0]}` is not an option of {title}: a fork may check otherwise")
    elif not release.possible:
        yield Doubt(f"no release of {title} has all of its options")
    elif since and release.history.earlier(release.possible[0], since):
        yield Doubt(f"the release is not known, and {title} before {since} does not check it")
    elif until and not release.history.earlier(release.possible[-1], until):
        yield Doubt(f"the release is not known, and {title} does not check it from {until} on")


def _foreign(launch: LaunchedJob, framework: str, release: Release) -> list[str]:
    """Settings that no release has, of a framework whose settings all stand in a table of its own."""
    if framework not in BACKENDS or not (release.dated.forked or release.dated.scope == "toml"):
        return []
    names = (setting.name for setting in launch.all(release.dated.scope))
    return [name for name in names if release.spelt(name) not in release.history]


def _about(complaint: Complaint) -> set[str]:
    """The words by which options name the facts that a complaint is about."""
    places = [complaint.at, *(each.at for each in complaint.related)]
    facts = (place.name for place in places if isinstance(place, Fact))
    return {word for fact in facts for word in _WORDS.get(fact, fact).split()}


def _words(option: str) -> set[str]:
    return {word.removesuffix("s") for word in re.split(r"[^a-z0-9]+", option.lower())}


def _of_value(launch: LaunchedJob, at: At) -> Iterator[Doubt]:
    """A value that is a default of a script or of a library, which its caller may replace."""
    if not isinstance(at, Fact | Setting):
        return
    for place in (at, *_made_of(launch, at)):
        variable = launch.defaulted(place)
        if variable is not None:
            yield Doubt(f"${variable} has its default")
        elif _is_default(launch.config.texts.get(place.path, ""), place):
            yield Doubt("the value is a default, which a caller may replace", "info")


def _made_of(launch: LaunchedJob, at: Fact | Setting) -> list[Fact]:
    """The facts that one was worked out from."""
    if not isinstance(at, Fact) or at.name not in _OF_WORLD:
        return []
    one_node = at.name in _DIVIDED and launch.number("nodes") == 1
    return [launch.facts[name] for name in _WORLD[one_node:] if name in launch.facts]


def _is_default(text: str, place: Fact | Setting) -> bool:
    """Whether a value of a Python program stands where a function or a parser has its defaults."""
    if not place.path.endswith(".py"):
        return False
    return any(start <= (place.line, place.column) < end for start, end in _defaults(text))


@lru_cache(maxsize=64)
def _defaults(text: str) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    """Where the arguments of functions, and those of `add_argument` in a program, begin and end."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    stretches = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            stretches.append(((node.lineno, 1), (node.body[0].lineno, 1)))
        elif isinstance(node, ast.Call) and _adds(node.func):
            end = (node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1)
            stretches.append(((node.lineno, node.col_offset + 1), end))
    return tuple(stretches)


def _adds(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "add_argument"

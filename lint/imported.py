"""Facts of launch files -> the canonical text of a job; unknown settings are comments to fill in."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..backends import BACKENDS
from ..backends.languages.language import one_line
from ..dsl.formatting.drafts import draft
from ..dsl.job import Train
from ..dsl.library import std_entries
from ..dsl.schema import setting_types
from ..dsl.settings import Data
from ..dsl.syntax.naming import block_name
from ..dsl.syntax.quoting import quoted
from ..reading.facts import Setting
from .facts.batch import batches
from .facts.job_blocks import NEEDED, described_layout, described_model, described_train, undivided
from .facts.launched_job import LaunchedJob
from .imported_launch import cores, launch_block
from .unexpressed import altered, lines, unexpressed

#: What a job leaves out when it is the language's own default, or says nothing.
_IDLE = {"bias": False, "tied": False, "qk_norm": False, "mtp_layers": 0, "dropout": 0.0}
#: Settings that are no bare numbers.
_UNITS = {"collective_timeout": " s"}
#: Settings of `train` that are texts and not words of the language.
_TEXTS = {name for name, each in setting_types(Train).items() if each.kind == "text"}


@dataclass(frozen=True)
class Imported:
    """The text of a job, the settings that somebody must fill in, and those of the files that it lacks."""

    text: str
    unknown: tuple[str, ...]
    lost: tuple[Setting, ...]


def imported(launch: LaunchedJob, cluster: str | None = None) -> Imported:
    """The job that a launch describes; `cluster` names where it runs, such as std.h100_pod."""
    model, train = described_model(launch), described_train(launch)
    lost = unexpressed(launch.config)
    name = block_name(_job_name(launch), "job")
    unknown: list[str] = []
    blocks = [
        _settings(f"model {name}", model, NEEDED["model"], unknown, "model"),
        _cluster(launch, cluster, unknown),
        _settings("train", train, NEEDED["train"], unknown, "train"),
        _goal(launch, lost),
        _target(launch, unknown),
        *launch_block(launch),
    ]
    sources = ", ".join(one_line(PurePath(path).name) for path in launch.config.texts)
    head = f"# Imported by parc from {sources}. Commented settings are not in these files."
    return Imported(draft([head, *blocks, *_lost(lost)]), tuple(unknown), lost)


def _lost(settings: tuple[Setting, ...]) -> Iterator[str]:
    if settings:
        head = (
            "# What the files say and this job does not; `extra` of the target may carry options:"
        )
        yield "\n".join([head, *(f"#   {line}" for line in lines(settings))])


def _job_name(launch: LaunchedJob) -> str:
    """sbatch's name of the job, unless it is made of patterns; else the script's name."""
    batch = next(batches(launch), None)
    given = batch.value("job-name") if batch else None
    if given and launch.generated:
        given = given.removesuffix(f"-{launch.framework}")
    return given if given and not re.search(r"[%$]", given) else PurePath(launch.path).stem


def _settings(
    head: str, values: Mapping[str, Any], needed: Iterable[str], unknown: list[str], block: str
) -> str:
    kept = {name: value for name, value in values.items() if _IDLE.get(name) != value}
    lines = [f"  {name} = {_setting(name, value)}" for name, value in kept.items()]
    for name in needed:
        if name not in values:
            unknown.append(f"{block}.{name}")
            lines.append(f"  # {name} = ...")
    return "\n".join([f"{head} {{", *lines, "}"])


def _setting(name: str, value: Any) -> str:
    return quoted(value) if name in _TEXTS else f"{_value(value)}{_UNITS.get(name, '')}"


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() if value >= 1e-4:
            return f"{value:.9g}"
        case Data():
            return _data_text(value)
        case None:
            return "none"
    return str(value)


def _data_text(data: Data) -> str:
    if data.synthetic:
        return "synthetic"
    if len(data.parts) == 1:
        return quoted(data.parts[0][0])
    parts = "; ".join(f"{quoted(source)} = {weight:g}" for source, weight in data.parts)
    return f"{{ {parts} }}"


def _cluster(launch: LaunchedJob, given: str | None, unknown: list[str]) -> str:
    """The cluster that was named, or the one whose GPUs sbatch is asked for by type."""
    nodes, gpus = launch.number("nodes"), launch.number("gpus_per_node")
    known = given or _by_type(launch)
    if nodes is None and known is not None:
        nodes, gpus = _filled(launch, gpus or _gpus_of(known))
    open_ = None if nodes or known is None else _as_many_as_the_batch(launch, gpus)
    lines = [f"  nodes = {nodes}"] if nodes else [open_ or "  # nodes = ..."]
    if nodes is None:
        unknown.append("cluster.nodes")
    if gpus is not None and known is not None and _gpus_of(known) != gpus:
        lines.append(f"  gpus_per_node = {gpus}")
    if count := cores(launch):
        lines.append(f"  cpu_cores = {count}")
    if known is not None:
        return "\n".join([f"cluster pod from {known} {{", *lines, "}"])
    unknown.append("cluster")
    say = "# Which GPUs these are is not in the files; `parc std` lists clusters."
    told = f"# It has {gpus} GPUs per node." if gpus else "# How many GPUs a node has is not said."
    shown = [f"# {line}" for line in ["cluster pod from std.NAME {", *lines, "}"]]
    return "\n".join([say, told, *shown])


def _filled(launch: LaunchedJob, each: int | None) -> tuple[int | None, int | None]:
    """Nodes of `each` GPUs, and GPUs of a node, for a world that is known alone or by its degrees."""
    mesh = launch.program.mesh if launch.program else ()
    degrees = [launch.number(name) for name in mesh]
    product = math.prod(degree or 0 for degree in degrees) if degrees else None
    world = launch.number("gpus") or product
    if not world or not each:
        return None, each
    if world <= each:
        return 1, world
    return (world // each, each) if world % each == 0 else (None, each)


def _as_many_as_the_batch(launch: LaunchedJob, each: int | None) -> str | None:
    """Line with the numbers of nodes that the batch can use, for a configuration that does not state one."""
    batch, micro = launch.number("global_batch"), launch.number("micro_batch")
    if launch.program is None or not (batch and micro and each):
        return None
    most = batch // micro // each
    return f"  nodes = 1..{most}  # not in the files" if most > 1 else None


def _by_type(launch: LaunchedJob) -> str | None:
    """`h100` in `--gpus-per-node=h100:8` names a cluster of the standard library."""
    names = {entry.name for entry in std_entries() if entry.kind == "cluster"}
    for batch in batches(launch):
        for option in ("gpus-per-node", "gres", "gpus"):
            words = re.split(r"[:,=]", (batch.value(option) or "").lower())
            for word in words:
                fitting = [name for name in (f"{word}_pod", f"dgx_{word}") if name in names]
                if fitting:
                    return f"std.{fitting[0]}"
    return None


def _gpus_of(name: str) -> int | None:
    from .std_cluster import cluster_named

    return cluster_named(name).gpus_per_node


def _goal(launch: LaunchedJob, lost: Iterable[Setting]) -> str:
    """The layout as conditions: without them parc would choose its own. What a setting changes that no job
    says is no condition."""
    changed = altered(launch, lost)
    layout = described_layout(launch) | undivided(launch)
    conditions = [f"  require {name} == {v}" for name, v in layout.items() if name not in changed]
    remark = "  # The layout of the files. Drop a line to see what parc would choose, and gain."
    return "\n".join(["goal {", "  maximize mfu", remark, *conditions, "}"])


def _target(launch: LaunchedJob, unknown: list[str]) -> str:
    backend = BACKENDS.get(launch.framework or "")
    if backend is None and launch.program is not None:
        return f"target {launch.program.target} {{}}  # {launch.program.title}, nearly"
    if backend is None:
        unknown.append("target")
        return f"# Which framework runs this is not in the files.\n# target {next(iter(BACKENDS))} {{}}"
    fork = backend.reader.fork(launch.config)
    remark = f"  # {fork}, nearly" if fork else ""
    said = backend.reader.options(launch.config).items()
    settings = [f"  {name} = {_option(value)}" for name, value in said]
    if not settings:
        return f"target {launch.framework} {{}}{remark}"
    return "\n".join([f"target {launch.framework} {{{remark}", *settings, "}"])


def _option(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else _value(value)

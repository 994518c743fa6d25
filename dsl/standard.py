"""A name of one definition of the standard library -> its `Model`, `Gpu` or `Cluster`."""

from typing import TypeVar

from .diagnostics import JobError, Source, Span
from .evaluation.assemble import Checker, cluster_of, gpu_of
from .evaluation.blocks import Gathered, build, find_definition, gather, read_settings
from .evaluation.overrides import Overrides
from .evaluation.scope import Scope
from .hardware import Cluster, Gpu
from .library import STD
from .model import Model
from .report import Report
from .syntax.tree import File, Identifier

Built = TypeVar("Built")


def std_model(name: str) -> Model:
    """The model `std.NAME`; raises `JobError` when there is none."""
    report, block = _gathered("model", name)
    values = read_settings(block, Model, report)
    return _sound(build(block, Model, values, report, name=block.name), report)


def std_gpu(name: str) -> Gpu:
    """The GPU `std.NAME`; raises `JobError` when there is none."""
    report, block = _gathered("gpu", name)
    return _sound(gpu_of(block, report), report)


def std_cluster(name: str) -> Cluster:
    """The cluster `std.NAME`; raises `JobError` when there is none."""
    report, block = _gathered("cluster", name)
    empty = Checker(report, File(Source("", ""), ()), Scope(), Overrides(), {})
    return _sound(cluster_of(block, empty), report)


def _gathered(kind: str, name: str) -> tuple[Report, Gathered]:
    source = Source("std", f"std.{name}")
    identifier = Identifier(source.text, Span(source, 0, len(source.text)))
    report = Report()
    return report, gather(find_definition(kind, identifier, STD), {}, report)


def _sound(built: Built | None, report: Report) -> Built:
    if built is None or report.diagnostics:
        raise JobError(report.diagnostics)
    return built

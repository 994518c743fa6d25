"""`Measured` -> the text of a `.par` file to import: its GPU and cluster, each number with its spread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

from pydantic import BaseModel

from ...dsl.hardware import Cluster, Gpu
from ...dsl.schema import setting_types
from ...dsl.standard import std_cluster, std_gpu
from ..setting_text import SettingValue, setting_text
from ..site_file import LEFT_TO_THE_JOB, canonical, signed, stem_of
from .in_training import BIASES
from .measured import Measured
from .trained_models import Trained

#: Settings that are stated even where they are the library's: what the probe was asked for.
_HOST = {"node_memory", "cpu_cores"}
#: A cluster must state its network; one node tells nothing of it.
NO_NETWORK = "  # not measured: as inside a node; say your own before you plan for several"


def block_names(output: str) -> tuple[str, str]:
    """Names of the cluster and of the GPU that the file `output` defines."""
    stem = stem_of(output)
    return stem, f"{stem}_gpu"


def blocks_text(found: Measured, output: str) -> str:
    """The text of the file; the same rows give the same text."""
    cluster_name, gpu_name = block_names(output)
    comment = "\n".join(f"# {line}" for line in summary(found))
    gpu = _block("gpu", gpu_name, found.gpu_entry, found.cluster.gpu, found, {})
    extra, unmeasured = {"gpu": gpu_name}, dict[str, str]()
    if found.cluster_entry is None:
        nodes = found.probe.machine.nodes
        extra["nodes"] = str(nodes)
        unmeasured = {"network": NO_NETWORK} if nodes == 1 else {}
    given = (found.cluster_entry, found.cluster, found, extra, unmeasured)
    cluster = _block("cluster", cluster_name, *given)
    return signed("measure", canonical(output, f"{comment}\n\n{gpu}\n\n{cluster}\n"))


def summary(found: Measured) -> list[str]:
    """Lines about the probe's run: on which machine, how much of it ran, and what it did not measure."""
    machine, rows = found.probe.machine, found.probe.rows
    hosts = ", ".join(dict.fromkeys(machine.hosts))
    failed = len(found.probe.failed)
    lines = [
        f"{machine.ranks} x {machine.name} on {hosts}; PyTorch {machine.torch} {machine.cuda}".rstrip(),
        f"{len(rows) - failed} of {machine.cases} cases" + (f", {failed} failed" if failed else ""),
    ]
    if kept := [name for name in found.levels if _as_the_library(name, found)]:
        lines.append(
            f"As the library has it, within what loops tell of training: {', '.join(kept)}"
        )
    if found.trained.count:
        lines.append(_models(found.trained))
    if found.untold:
        lines.append(f"Not told by any case, and left as they were: {', '.join(found.untold)}")
    if machine.nodes == 1:
        lines.append("One node was probed: nothing is measured of the network between nodes")
    if len(found.paces) > 1:
        lines.append(f"Attention, time over the fastest kernel's: {_paces(found.paces)}")
    return lines


def _models(found: Trained) -> str:
    """How far prices are from the steps of small models."""
    before, after = (
        [abs(math.expm1(each)) for each in errors] for errors in (found.before, found.after)
    )
    count = "1 small model" if found.count == 1 else f"{found.count} small models"
    return (
        f"Steps of {count}: predicted within {100 * median(after):.1f} % (median; at most "
        f"{100 * max(after):.1f} %), and by loops of kernels alone within {100 * median(before):.1f} %"
    )


def _as_the_library(name: str, found: Measured) -> bool:
    """Whether a level that is biased leaves its number where the library has it."""
    if name not in BIASES or found.gpu_entry is None:
        return False
    if name in Gpu.model_fields:
        library: object = getattr(std_gpu(found.gpu_entry), name)
    elif found.cluster_entry is not None:
        library = getattr(std_cluster(found.cluster_entry), name)
    else:
        library = Cluster.model_fields[name].default
    return bool(found.value(name) == library)


def _paces(paces: Mapping[str, float]) -> str:
    fastest = min(paces.values())
    return ", ".join(f"{name} {pace / fastest:.2f}" for name, pace in sorted(paces.items()))


def _block(
    kind: str,
    name: str,
    entry: str | None,
    value: BaseModel,
    found: Measured,
    extra: Mapping[str, str],
    unmeasured: Mapping[str, str] = {},
) -> str:
    """One definition: what differs from its entry of the library, or from the language's defaults."""
    types = setting_types(type(value))
    changed = _changed(kind, entry, value)
    settings = dict(extra) | {
        key: setting_text(types[key], changed[key]) for key in types if key in changed
    }
    width = max(map(len, settings), default=0)
    notes = {key: _note(key, found) for key in settings} | dict(unmeasured)
    lines = [f"  {key:<{width}} = {text}{notes[key]}" for key, text in settings.items()]
    origin = f" from std.{entry}" if entry else ""
    return "\n".join([f"{kind} {name}{origin} {{", *lines, "}"])


def _changed(kind: str, entry: str | None, value: BaseModel) -> dict[str, SettingValue]:
    fields = type(value).model_fields
    given = {name: getattr(value, name) for name in fields if name not in LEFT_TO_THE_JOB}
    if entry is None:
        return {name: each for name, each in given.items() if fields[name].default != each}
    base: BaseModel = std_gpu(entry) if kind == "gpu" else std_cluster(entry)
    stated = _HOST if isinstance(value, Cluster) else set()
    return {
        name: each for name, each in given.items() if name in stated or getattr(base, name) != each
    }


def _note(name: str, found: Measured) -> str:
    """The rate of kernels alone, and the spread over shapes: how far cases are from the number."""
    level = found.levels.get(name)
    if level is None:
        return ""
    cases = "1 case" if level.rows == 1 else f"{level.rows} cases"
    alone = f"{level.value:.3g} alone, " if name in BIASES else ""
    return f"  # measured: {alone}± {100 * level.spread:.0f} % over {cases}"

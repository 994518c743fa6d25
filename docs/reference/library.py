"""The pages of the standard library: hardware and models as std has them, each number with its source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docs.tables import markdown
from parc.commands.std import definition
from parc.compiler.model.parameters import total
from parc.dsl import std_entries
from parc.dsl.library import StdEntry
from parc.dsl.standard import std_cluster, std_gpu, std_model

_GIB = 2**30
_TERA = 1e12
_HARDWARE = """# Hardware of the standard library

`gpu = std.NAME` in a cluster, `cluster pod from std.NAME { nodes = 4 }` in a job. Names are found in any
case and with any separators.
FLOP rates are dense and bandwidths go one way; below the tables stand the definitions, where each number
bears the label of its
source, and the labels. `parc std NAME` prints one of them.
"""
_MODELS = """# Models of the standard library

`model llama from std.NAME {}` in a job takes a model as it is, and settings between the braces change
it. Parameters are counted by
[the cost model](../cost-model.md); `parc init --hf FOLDER` reads a `config.json` of models that are not here.
"""


def hardware() -> str:
    """The page of GPUs and clusters in Markdown."""
    gpus, clusters = _of("gpu"), _of("cluster")
    return "\n\n".join(
        [
            _HARDWARE.rstrip(),
            "## GPUs",
            markdown(
                ("gpu", "what", "memory", "dense bf16", "memory bandwidth"), list(map(_gpu, gpus))
            ),
            "## Clusters",
            markdown(("cluster", "what", "GPUs of a node", "gpu"), list(map(_cluster, clusters))),
            "## Definitions of GPUs",
            *map(_definition, gpus),
            "## Sources of GPUs",
            _sources(gpus),
            "## Definitions of clusters",
            *map(_definition, clusters),
            "## Sources of clusters",
            _sources(clusters),
        ]
    )


def models() -> str:
    """The page of models in Markdown."""
    entries = _of("model")
    head = ("model", "what", "parameters", "layers", "width")
    parts = [_MODELS.rstrip(), markdown(head, list(map(_model, entries))), "## Definitions"]
    return "\n\n".join([*parts, *map(_definition, entries), "## Sources", _sources(entries)])


def _of(kind: str) -> list[StdEntry]:
    return [entry for entry in std_entries() if entry.kind == kind]


def _gpu(entry: StdEntry) -> tuple[str, ...]:
    gpu = std_gpu(entry.name)
    rate = f"{gpu.bf16 / _TERA:,.0f} TFLOP/s" if gpu.bf16 else "none"
    bandwidth = f"{gpu.memory_bandwidth / _TERA:.2f} TB/s"
    return (_name(entry), _what(entry), f"{gpu.memory / _GIB:.1f} GiB", rate, bandwidth)


def _cluster(entry: StdEntry) -> tuple[str, ...]:
    cluster = std_cluster(entry.name)
    return (_name(entry), _what(entry), str(cluster.gpus_per_node), f"`{cluster.gpu.name}`")


def _model(entry: StdEntry) -> tuple[str, ...]:
    model = std_model(entry.name)
    count = f"{total(model) / 1e9:.3g} B"
    return (_name(entry), _what(entry), count, str(model.layers), f"{model.hidden:,}")


def _name(entry: StdEntry) -> str:
    return f"[`{entry.name}`](#{entry.name})"


def _what(entry: StdEntry) -> str:
    also = ", ".join(f"`{alias}`" for alias in entry.aliases)
    return f"{entry.doc}; also {also}" if also else entry.doc


def _definition(entry: StdEntry) -> str:
    return f"### {entry.name}\n\n```par\n{definition(entry)}\n```"


def _sources(entries: Sequence[StdEntry]) -> str:
    """The labels of a file's header, a list. All entries stand in one file."""
    head = re.split(r"^(?!#)", entries[0].source.text, maxsplit=1, flags=re.MULTILINE)[0]
    items: list[str] = []
    for line in head.splitlines():
        text = line.removeprefix("#").strip()
        if found := re.match(r"\[([\w-]+)\] +(.*)", text):
            items.append(f"- `{found[1]}`: {found[2]}")
        elif items and text:
            items[-1] += f" {text}"
    return "\n".join(items)

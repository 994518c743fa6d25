"""A layout in words: its degrees, and how it splits the model."""

from __future__ import annotations

from parc.compiler.plan import Layout

from .paragraphs import BETWEEN


def layout_text(layout: Layout) -> str:
    """The layout in one line, without the degrees that are 1."""
    return BETWEEN.join(layout_parts(layout))


def layout_parts(layout: Layout) -> list[str]:
    """The layout in words, without the degrees that are 1."""
    found = [
        _degree(name, getattr(layout, name)) for name in ("tp", "pp", "vpp", "cp", "ep", "etp")
    ]
    found += _data_parallel(layout)
    if layout.order:
        found.append(layout.schedule)
    found.append(f"micro-batch {layout.micro_batch} × {layout.microbatches}")
    layers = f" in {layout.recompute_layers} layers" if layout.recompute_layers else ""
    found.append(f"recompute {layout.recompute_name}{layers}")
    if layout.offload:
        found.append(f"offload {layout.offload_name}")
    return [part for part in found if part]


def split_text(layout: Layout) -> str:
    """How a layout splits the model and the batch."""
    parts = layout_parts(layout)
    first = next(at for at, part in enumerate(parts) if part.startswith("micro-batch"))
    return BETWEEN.join(parts[:first])


def splitting(layout: Layout) -> str:
    """How a layout splits the model."""
    degrees = [_degree(name, getattr(layout, name)) for name in ("tp", "pp", "cp", "ep")]
    return " · ".join(filter(None, degrees)) or "no splitting"


def _data_parallel(layout: Layout) -> list[str]:
    if layout.dp == 1 and layout.cp == 1:
        return []
    replicas = (
        f"{layout.dp_replicate} × {layout.dp_shard}" if layout.dp_replicate > 1 else layout.dp
    )
    name = "hsdp" if layout.zero and layout.dp_replicate > 1 else "dp"
    pieces = [f"{name} {replicas if name == 'hsdp' else layout.dp}", f"zero {layout.zero}"]
    return [*pieces, f"hpz {layout.hpz}"] if layout.hpz > 1 else pieces


def _degree(name: str, degree: int) -> str:
    return f"{name} {degree}" if degree > 1 else ""

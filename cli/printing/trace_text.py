"""A timeline that was written -> what `parc trace` says of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .words.numbers import counted

if TYPE_CHECKING:
    from parc.compiler.plan import Estimate
    from parc.compiler.schedule.timeline import Timeline


def timeline_text(target: str, estimate: Estimate, found: Timeline, path: Path) -> str:
    """The part that is shown, the simulated step beside the estimate's, and where to open the trace."""
    layout = estimate.layout
    lines = [
        f"{path}: {found.shown:,} of {layout.microbatches:,} micro-batches of a step of {target}, "
        f"{counted(layout.pp, 'pipeline rank')} of {counted(layout.vpp, 'chunk')}",
    ]
    if found.step_ns is not None and found.pipeline_ns is not None:
        apart = found.pipeline_ns - found.closed_form_ns
        lines += [
            f"step: {found.step_ns / 1e9:.3f} s simulated, {estimate.step_seconds:.3f} s in the plan",
            f"passes, sends and bubble: {found.pipeline_ns / 1e9:.3f} s simulated, "
            f"{apart / found.closed_form_ns:+.2%} of the closed form",
        ]
    lines.append("open it at https://ui.perfetto.dev")
    return "\n".join(lines)

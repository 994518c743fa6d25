"""A first job that was written -> what `parc init` prints of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..new_job.first_job import FirstJob


def first_job_text(job: FirstJob, path: Path) -> str:
    """The choices, and the next command."""
    model, gpus, targets = job.model, job.gpus, ", ".join(job.targets.names)
    where = f"{gpus.count:,} GPU{'s' if gpus.count > 1 else ''} (std.{gpus.base}" + (
        f", {gpus.gpu})" if gpus.gpu else ")"
    )
    lines = [
        f"{path}: {model.name}, {job.parameters:,} parameters{job.counted.remark}",
        *(f"  missing in {model.source}, transformers' default: {each}" for each in model.assumed),
        f"  on {where}" + (", assumed: --gpus says others" if gpus.assumed else ""),
        *((f"  tune = {job.tuned.tune} of {job.tuned.weights}",) if job.tuned else ()),
        f"  for {targets}",
        *(f"  not for {name}: {reason}" for name, reason in job.targets.refused.items()),
        *(f"  left out: {name}, since {why}" for name, why in job.targets.left_out.items()),
        *(
            f"  changed: {name} = {model.settings[name]}, since {why}"
            for name, why in job.targets.changed.items()
        ),
        f"next: parc plan {path}",
    ]
    return "\n".join(lines)


def first_job_json(job: FirstJob, path: Path) -> dict[str, Any]:
    """The choices and the next command as data."""
    model, gpus = job.model, job.gpus
    return {
        "path": str(path),
        "model": {
            "name": model.name,
            "family": model.family,
            "parameters": job.parameters,
            "stored": job.counted.stored,
            "settings": dict(model.settings),
        },
        "cluster": {"name": f"std.{gpus.base}", "gpu": gpus.gpu, "nodes": gpus.nodes}
        | {"gpus_per_node": gpus.per_node, "assumed": gpus.assumed},
        "targets": list(job.targets.names),
        "refused": job.targets.refused,
        "left_out": job.targets.left_out,
        "changed": job.targets.changed,
        "unsaid": [
            {"setting": each.setting, "line": each.line, "why": each.why} for each in model.unsaid
        ],
    }

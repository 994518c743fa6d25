"""Measurements of a probe, or the files that will take them -> text for a person, and JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from parc.calibrate.probe.measured import Measured
from parc.calibrate.probe.site_blocks import block_names, summary
from parc.dsl.syntax.quoting import quoted

from .calibration_report import columns, setting
from .plan_json import JsonObject, rounded
from .words.command_paths import argument

if TYPE_CHECKING:
    from parc.calibrate.probe.batch import Names


def probe_text(found: Measured, output: Path, changed: bool) -> str:
    """The runs of the probe, each number with its spread, and how a job takes the file."""
    rows = [("number", "measured", "cases", "written")]
    rows += [
        (
            name,
            f"{_shown(name, level.value)} ± {100 * level.spread:.0f} %",
            str(level.rows),
            _shown(name, found.value(name)),
        )
        for name, level in found.levels.items()
    ]
    cluster, _ = block_names(output.name)
    state = "written" if changed else "nothing to change"
    use = f"  import {quoted(str(output))}\n  cluster NAME from {cluster} {{ nodes = ... }}"
    end = f"{output}: {state}; to use it, write in a job\n\n{use}"
    return "\n".join([*summary(found), "", *columns(rows), "", end])


def _shown(name: str, value: float) -> str:
    return setting(name, float(f"{value:.3g}"))


def probe_json(found: Measured, output: Path, changed: bool) -> JsonObject:
    machine = found.probe.machine
    return {
        "gpu": {"name": machine.name, "entry": found.gpu_entry},
        "cluster": {"entry": found.cluster_entry, "ranks": machine.ranks, "nodes": machine.nodes},
        "cases": {
            "planned": machine.cases,
            "timed": len(found.probe.finished),
            "failed": len(found.probe.failed),
        },
        "numbers": [
            {
                "name": name,
                "of": level.number.owner,
                **rounded(
                    {
                        "value": found.value(name),
                        "alone": level.value,
                        "spread": level.spread,
                    }
                ),
                "cases": level.rows,
            }
            for name, level in found.levels.items()
        ],
        "untold": found.untold,
        "attention": rounded(dict(found.paces)),
        "models": [
            rounded({"error": math.expm1(after), "alone": math.expm1(before)})
            for before, after in zip(found.trained.before, found.trained.after, strict=True)
        ],
        "warnings": [warning.to_json() for warning in found.warnings],
        "output": str(output),
        "written": changed,
    }


def batch_text(names: Names) -> str:
    """The commands for the files."""
    script, rows, output = (
        argument(path.name) for path in (names.script, names.rows, names.output)
    )
    return (
        f"{names.script} and {names.program}: written; in their folder, run\n\n"
        f"  sbatch {script}\n"
        f"  parc measure --rows {rows} -o {output}"
    )


def batch_json(names: Names) -> JsonObject:
    return {"script": str(names.script), "probe": str(names.program), "rows": str(names.rows)}

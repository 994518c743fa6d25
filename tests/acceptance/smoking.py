"""Conditions on a layout -> a job that asks for them, and what `parc smoke` says of training it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import cache_folder, environment
from results import RESULTS, Ran

#: A grouped-query decoder of eight layers on two nodes; `parc smoke` makes it narrow.
DENSE = "model decoder from std.llama3_8b { layers = 8 }"
EXPERTS = "model experts from std.mixtral_8x7b { layers = 4 }"
JOB = """\
{model}
cluster pair from std.dgx_h100 {{ nodes = {nodes} }}
train {{ seq_len = 8192; global_batch = 64; steps = 100 }}
goal {{
{conditions}
}}
target {target} {{ {options} }}
"""
LIMIT_SECONDS = 400


@dataclass(frozen=True)
class Wanted:
    """A job by its layout: `layout` is required of it, `trained` is what must be left in `processes`."""

    layout: str
    processes: int
    trained: dict[str, int | str]
    model: str = DENSE
    options: str = ""
    nodes: int = 1


def job_text(target: str, wanted: Wanted) -> str:
    rules = (f"  require {each.strip()}" for each in wanted.layout.split(","))
    return JOB.format(
        model=wanted.model,
        nodes=wanted.nodes,
        conditions="\n".join(rules),
        target=target,
        options=wanted.options,
    )


def smoked(target: str, wanted: Wanted, name: str, folder: Path, *more: str) -> dict[str, Any]:
    """What `parc smoke --json` prints of the one run."""
    job = folder / "job.par"
    job.write_text(job_text(target, wanted))
    python = str(environment(name).python)
    command = [
        sys.executable,
        "-m",
        "parc",
        "smoke",
        str(job),
        "--python",
        python,
        "--json",
        "--cpu",
    ]
    command += ["--procs", str(wanted.processes), "--limit", str(LIMIT_SECONDS), *more]
    variables = {"TORCH_EXTENSIONS_DIR": str(cache_folder() / "torch_extensions")}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.stdout, done.stderr
    printed = json.loads(done.stdout)
    assert printed["runs"], printed["not_run"]
    run: dict[str, Any] = printed["runs"][0]
    return {**run, "environment": name}


def check(run: dict[str, Any], wanted: Wanted) -> None:
    """It trained to the end with falling loss, and what was trained is the layout that was meant."""
    assert run["good"], "\n".join([run["verdict"], *run["log"]])
    assert {name: run["trained"][name] for name in wanted.trained} == wanted.trained
    RESULTS.train(run["environment"], Ran.said(run))

"""Launches that work: those under tests/cases/working, written by hand in the styles that people use, and
those that parc writes for generated jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.acceptance.support.generated_jobs import Generated
from tests.acceptance.support.recorded_launches import capability
from tests.support.paths import ROOT

CASES = ROOT / "tests" / "cases" / "working"
GOLDEN = ROOT / "tests" / "golden"
#: Nodes of the cases that name their script's, else 1.
NODES = {
    "dense_arrays": 2,
    "moe_strings": 8,
    "hybrid_sbatch": 4,
    "mla_heredoc": 4,
    "llama70b_overrides": 4,
    "sbatch_pipeline": 16,
}
#: What parc writes starts so.
SCRIPTS = {"megatron": "pretrain.sh", "deepspeed": "launch.sh", "torchtitan": "launch.sh"}


@dataclass(frozen=True)
class Working:
    """Files of a launch by path, the script that starts it, and the nodes that it is for."""

    name: str
    files: Mapping[str, str]
    script: str
    nodes: int
    capability: tuple[int, int] = (9, 0)


def by_hand(framework: str) -> list[Working]:
    """One of each folder: its script is the file that bash starts. `NAME.txt` beside them is in each."""
    shared = {path.stem: path.read_text() for path in (CASES / framework).glob("*.txt")}
    found = []
    for folder in sorted(path for path in (CASES / framework).iterdir() if path.is_dir()):
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        own = {str(path.relative_to(folder)): path.read_text() for path in paths}
        files = {**shared, **own}
        script = next(name for name in files if name.endswith((".sh", ".sbatch")))
        found.append(Working(folder.name, files, script, NODES.get(folder.name, 1)))
    return found


def examples(target: str) -> list[Working]:
    """What parc writes for its examples, as the golden files have it."""
    found = []
    for folder in sorted(each.parent for each in GOLDEN.glob(f"*/{target}/{SCRIPTS[target]}")):
        paths = sorted(path for path in folder.iterdir() if path.is_file())
        files = {f"{target}/{path.name}": path.read_text() for path in paths}
        script = f"{target}/{SCRIPTS[target]}"
        found.append(Working(folder.parent.name, files, script, _nodes(files[script])))
    return found


def _nodes(script: str) -> int:
    """The nodes that an emitted script asks for."""
    needed = re.search(r"needs (\d+) nodes? of", script)
    assert needed is not None
    return int(needed[1])


def emitted(job: Generated) -> Working:
    assert job.plan is not None
    target = job.plan.target
    return Working(
        job.name,
        {path: text for path, text in job.files.items() if path.startswith(f"{target}/")},
        f"{target}/{SCRIPTS[target]}",
        job.plan.layout.nodes,
        capability(job.plan.job.cluster.gpu.arch),
    )

"""A real SLURM refuses, or ends at once, the batch scripts that lint says it does, and runs the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.support import slurm_tools
from tests.acceptance.support.slurm_cluster import ENDED, Cluster, Run, cluster
from tests.lint.test_shell_and_directives import DIRECTIVES, REPLACED

#: Until a job of one command has ended.
SECONDS = 120
#: What a program fills in: sbatch refuses it as it stands, and lint waits for it.
WRITTEN = {line: code for line, code in DIRECTIVES.items() if not set("{<") & set(line)}
INTERPRETERS = {"#!bin/bash": False, "#! usr/bin/env bash": False, "#! /bin/bash": True}


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    slurm_tools.needs_root()
    slurm_tools.install()
    with cluster(tmp_path_factory.mktemp("cluster") / "c", nodes=1, gpus=1, cores=2) as made:
        yield made


def runs(made: Cluster, folder: Path, text: str, *options: str) -> bool:
    """Whether sbatch takes a script and its job ends well."""
    script = folder / "a.sbatch"
    script.write_text(text)
    said = made.slurm.run("sbatch", "--parsable", *options, str(script), folder=folder)
    if said.returncode:
        return False
    return Run(made.slurm, int(said.stdout), folder).wait_for(ENDED, SECONDS) == "COMPLETED"


@pytest.mark.parametrize("directive", WRITTEN)
def test_directives(directive: str, emulated: Cluster, tmp_path: Path) -> None:
    text = f"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH {directive}\nhostname\n"
    assert runs(emulated, tmp_path, text) is (WRITTEN[directive] is None)


#: Values on the command line, in place of those that a script has left empty.
GIVEN = {
    "partition": "train", "gres": "gpu:1", "output": "a.log", "error": "a.err", "time": "5", "mem": "10M",
    "cpus-per-task": "1", "ntasks-per-node": "1", "open-mode": "append", "signal": "USR1@60",
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_what_the_command_line_replaces(name: str, emulated: Cluster, tmp_path: Path) -> None:
    text = f"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --{name}=\nhostname\n"
    given = f"--{name}={GIVEN[name]}"
    assert runs(emulated, tmp_path, text, given) is (f"--{name}=" in REPLACED)


@pytest.mark.parametrize("first", INTERPRETERS)
def test_interpreters(first: str, emulated: Cluster, tmp_path: Path) -> None:
    assert (
        runs(emulated, tmp_path, f"{first}\n#SBATCH --nodes=1\nhostname\n") is INTERPRETERS[first]
    )

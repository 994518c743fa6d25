"""SLURM's own sbatch reads the values of directives as their writer was given them; no daemon is asked."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from parc.backends.languages import sbatch
from tests.acceptance.support.slurm_tools import Slurm, install
from tests.support.hostile_texts import PIECES, text_of

OPTIONS = ("account", "comment", "partition", "qos", "reservation")
CONFIGURATION = """ClusterName=parc
SlurmctldHost=localhost
AuthType=auth/none
NodeName=node1
PartitionName=all Nodes=ALL
MessageTimeout=2
"""
#: How `sbatch -v` prints an option.
SAID = re.compile(r"^sbatch: ([a-z-]+) *: (.*)$", re.M)


@pytest.mark.parametrize("seed", range(20))
def test_sbatch_reads_a_value_as_it_is(seed: int, tmp_path: Path) -> None:
    install()
    (tmp_path / "slurm.conf").write_text(CONFIGURATION)
    dice = Random(seed)
    pieces = (*PIECES, "é", "\\", "'", '"', " ", "#")
    values = {name: text_of(dice.randrange(10**6), pieces) for name in OPTIONS}
    lines = [f"#SBATCH --{sbatch.directive(name, value)}\n" for name, value in values.items()]
    script = tmp_path / "job.sbatch"
    script.write_text("#!/bin/bash\n" + "".join(lines) + "true\n")
    done = Slurm(tmp_path / "slurm.conf").run("sbatch", "-v", str(script))
    said = dict(SAID.findall(done.stderr))
    assert {name: said.get(name) for name in OPTIONS} == values

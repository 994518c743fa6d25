"""A script run by bash, with recorders in place of what it may start: what they were told, what else ran."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: Says what it was told; `srun` then runs the command behind its options, as SLURM would.
RECORDER = """#!/bin/bash
printf '%s\\0' "$@" >>"$RECORD/{name}"
env -0 >>"$RECORD/environment"
"""
ACTS = {
    "srun": 'while [[ $1 == --* ]]; do shift; done\nexec "$@"\n',
    "scontrol": "if [[ $2 == hostnames ]]; then echo node1; fi\n",
    "hf": 'printf "%s" "${@: -1}"\n',
}
STARTED = (
    "torchrun",
    "srun",
    "scontrol",
    "sbatch",
    "python",
    "python3",
    "deepspeed",
    "module",
    "hf",
)
SLURM = {
    "SLURM_NNODES": "2",
    "SLURM_GPUS_ON_NODE": "4",
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NAME": "job",
    "SLURM_JOB_NODELIST": "node[1-2]",
    "SLURM_NODEID": "0",
    "SLURM_CPUS_ON_NODE": "8",
    "SLURM_CPUS_PER_TASK": "8",
}


@dataclass(frozen=True)
class Ran:
    """The exit status, what was said, the words of each program, every variable, and files that appeared."""

    status: int
    said: str
    told: Mapping[str, tuple[str, ...]]
    environment: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for words in self.told.values() for word in words)


def run(script: Path, folder: Path, **variables: str) -> Ran:
    """Runs the script in an empty home below `folder`, with further variables of the environment."""
    tools, record, home = (folder / name for name in ("tools", "record", "home"))
    for each in (tools, record, home):
        each.mkdir()
    for name in STARTED:
        (tools / name).write_text(RECORDER.format(name=name) + ACTS.get(name, ""))
        (tools / name).chmod(0o755)
    environment = {
        **SLURM,
        "PATH": f"{tools}:/usr/bin:/bin",
        "HOME": str(home),
        "RECORD": str(record),
        "NNODES": "2",
        "NODE_RANK": "0",
        "MASTER_ADDR": "node1",
        "RUN_DIR": str(folder / "run"),
        "SLURM_SUBMIT_DIR": str(home),
        "PARC_OUT": str(script.parents[1]),
        "LC_ALL": "C.UTF-8",
        **variables,
    }
    done = subprocess.run(
        ["/bin/bash", script], cwd=home, env=environment, capture_output=True, timeout=60
    )
    told = {path.name: path.read_bytes().decode() for path in record.iterdir()}
    got = told.pop("environment", "").split("\0")
    words = {name: tuple(text.split("\0")[:-1]) for name, text in told.items()}
    said = (done.stdout + done.stderr).decode(errors="replace")
    files = (path for path in home.rglob("*") if path.is_file() and path.name != "run.json")
    left = tuple(sorted(path.name for path in files))
    return Ran(done.returncode, said, words, tuple(got), left)

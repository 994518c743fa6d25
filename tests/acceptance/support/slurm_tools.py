"""SLURM's commands: installed when they are missing, and run against a configuration of one's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from parc.smoke.processes import free_port

COMMANDS = ("slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "munged", "munge")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")


def needs_root() -> None:
    """The one allowed skip: SLURM's daemons run jobs as their users and take node names from /etc/hosts."""
    if os.geteuid() != 0:
        pytest.skip(
            "SLURM is emulated by root alone: its daemons start jobs and name nodes in /etc/hosts"
        )


@cache
def install() -> None:
    """Debian's packages, when a command is not there; fails where that is not possible."""
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if not missing:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ("update", "-qq"),
        ("install", "-y", "-qq", "--no-install-recommends", *PACKAGES),
    ):
        subprocess.run(
            ["apt-get", *command], check=True, env=environment, stdout=subprocess.DEVNULL
        )


@cache
def version() -> str:
    return subprocess.run(["sbatch", "--version"], text=True, capture_output=True).stdout.strip()


@cache
def knows(option: str) -> bool:
    """Whether this sbatch has a long option; 22.05 has no `segment`."""
    said = subprocess.run(["sbatch", "--help"], text=True, capture_output=True).stdout
    return f"--{option}" in said


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, all different."""
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return list(found)


@dataclass(frozen=True)
class Slurm:
    """Commands of the cluster of one configuration file."""

    configuration: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        return {**kept, "SLURM_CONF": str(self.configuration)}

    def run(
        self, *words: str, folder: Path | None = None, more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **(more or {})}
        return subprocess.run(
            words, text=True, capture_output=True, env=environment, cwd=folder, timeout=600
        )

    def text(self, *words: str) -> str:
        return self.run(*words).stdout

    def up(self, words: Sequence[str] = ("scontrol", "ping")) -> bool:
        return "UP" in self.text(*words)

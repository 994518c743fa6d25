"""Nodes and their GPUs -> the files of a probe on a SLURM cluster: a batch script, the probe beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import PurePath

from ...backends.languages import bash
from ...backends.languages.bash import Bash
from ...backends.languages.sbatch import directive
from ...backends.render import render
from ...backends.slurm.options import Options, time_text
from ..site_file import is_ours, signed
from .bundle import bundled

#: Seconds of a batch job beside those of the probe: PyTorch loads from a shared file system, nodes meet.
STARTING_SECONDS = 600
_SHEBANG = "#!/usr/bin/env bash\n"


@dataclass(frozen=True)
class Names:
    """Paths of the files that belong to `site.par`."""

    output: PurePath

    @property
    def script(self) -> PurePath:
        return self.output.with_suffix(".sbatch")

    @property
    def program(self) -> PurePath:
        return self.output.with_suffix(".probe.py")

    @property
    def rows(self) -> PurePath:
        return self.output.with_suffix(".rows.jsonl")


def program_text() -> str:
    """The probe as one Python file."""
    return signed("measure", bundled())


def batch_files(
    names: Names, nodes: int, gpus_per_node: int, minutes: float, python: str
) -> dict[PurePath, str]:
    """The texts of both files by path. The script is submitted from their folder."""
    options: Options = {
        "job-name": f"{names.output.stem}-probe",
        "nodes": nodes,
        "ntasks-per-node": 1,
        "gpus-per-node": gpus_per_node,
        "exclusive": True,
        "mem": 0,
        "time": time_text(60 * math.ceil(minutes) + STARTING_SECONDS),
        "output": "%x-%j.out",
    }
    rows = bash.operand(names.rows.name)
    values = {
        "options": [directive(name, value) for name, value in options.items()],
        "script": names.script.name,
        "submit": bash.word(bash.operand(names.script.name)),
        "measure": _command(
            "parc", "measure", "--rows", rows, "-o", bash.operand(names.output.name)
        ),
        "program": bash.operand(names.program.name),
        "rows": rows,
        "python": bash.operand(python),
        "minutes": f"{minutes:g}",
        "nodes": nodes,
        "gpus_per_node": gpus_per_node,
    }
    script = _SHEBANG + signed("measure", render("slurm/probe.sbatch.j2", values))
    return {names.program: program_text(), names.script: script}


def _command(*words: str) -> Bash:
    return bash.command(*map(bash.word, words))


def is_our_file(text: str) -> bool:
    """Whether `parc measure` wrote a file of the probe and nobody has changed it since."""
    return is_ours(text.removeprefix(_SHEBANG))

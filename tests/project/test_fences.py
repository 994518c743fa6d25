"""Every command in a fence of the documents is run, or stands here with the reason why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parc.__main__ import parser
from tests.support.fences import fences
from tests.support.paths import ROOT

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/cost-model").glob("*.md")),
]
#: Documents whose commands another test runs whole.
RUN = {"CONTRIBUTING.md": "tests/project/test_recipes.py"}
#: What begins a command of a fence other than `console` (test_docs.py runs those) -> why it is not run.
NOT_RUN = {
    "pip install": "sets up an environment: tests/acceptance/test_tutorial.py runs it",
    "pipx install": "needs pipx; tests/project/test_distribution.py runs what the wheel installs",
    "python3 -m venv": "sets up an environment: tests/acceptance/test_tutorial.py runs it",
    ". .venv": "sets up an environment: tests/acceptance/test_tutorial.py runs it",
    "eval": "changes the reader's shell: tests/cli/test_completion.py runs the completion",
    "make ": "a target of the Makefile, minutes to hours",
    "cd ": "goes with npm",
    "npm ": "needs npm's registry",
    "npx ": "needs npm's registry",
    "code ": "needs VS Code",
    "sbatch ": "needs SLURM",
    "trials/run.sh": "needs the framework and GPUs",
    "python -m tests.": "needs checkouts of the framework's releases",
    "parc": "tests/project/test_typed_commands.py runs those that need no framework, GPU or cluster",
}


def typed(path: Path) -> list[str]:
    """The commands of fences that show a shell and no output: of `sh`, or unnamed with a command first."""
    found = []
    for fence in fences(path.read_text()):
        lines = [line.partition("  #")[0].strip() for line in fence.text.splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        if fence.language == "sh" or (not fence.language and lines and _begins(lines[0])):
            found += lines
    return found


def _begins(line: str) -> bool:
    return any(line.startswith(begin) for begin in NOT_RUN) and " = " not in line


SHELL = [(path.name, line) for path in DOCUMENTS if path.name not in RUN for line in typed(path)]


def test_every_command_is_run_or_has_a_reason() -> None:
    assert len(SHELL) > 30
    assert [line for line in SHELL if not any(line[1].startswith(each) for each in NOT_RUN)] == []
    unused = [each for each in NOT_RUN if not any(line.startswith(each) for _, line in SHELL)]
    assert unused == []
    assert all((ROOT / test).is_file() for test in RUN.values())


@pytest.mark.parametrize(("name", "line"), [each for each in SHELL if each[1].startswith("parc ")])
def test_the_parser_takes_what_a_document_types(name: str, line: str) -> None:
    own = re.sub(r"\.\.\.", "x", line).split(" -- ")[0].split()[1:]
    assert parser().parse_args(own).run

"""`[[ $A =~ ... ]]`: what is decided, bash decides alike."""

from __future__ import annotations

import subprocess

import pytest

from parc.backends.launch_files import read_jobs

TEXTS = ["[0]", "[0,7]", "0", "a.b", "axb", "7B", "70b-chat", "x y", "", "a-1_b", "\\", "gpu]"]
PATTERNS = [
    r"^\[[0-9]+(,[0-9])?\]$",
    r"^[0-9]+B$",
    r"^([0-9]|[a-z])+$",
    r"a\.b",
    r"a.b",
    '"a.b"',
    r"[[:space:]]",
    r"^[^[:space:]]*$",
    r"^[A-Za-z0-9_-]+$",
    r"^(a|x).?y?$",
    r"[]]$",
    r"^(7B|70b)",
    r"^$",
]


def _decided(script: str) -> list[str]:
    """Which of the numbered branches are taken for certain."""
    (job,) = read_jobs({"job.sh": script})
    return [str(setting.values[0]) for setting in job.all("argument", "--x")]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_matched_as_bash_matches_it(pattern: str) -> None:
    for text in TEXTS:
        test = f"A='{text}'\nif [[ $A =~ {pattern} ]]; then R=yes; else R=no; fi\n"
        shown = subprocess.run(
            ["bash", "-c", f'{test}printf %s "$R"'], capture_output=True, text=True, check=True
        )
        decided = _decided(f"{test}torchrun --nproc_per_node 8 train.py --x $R\n")
        assert decided == [shown.stdout], (text, pattern)


def test_a_guard_of_a_pattern_that_holds_does_not_end_the_script() -> None:
    guard = r'if ! [[ "$R" =~ ^\[[0-9]+(,[0-9]+)*\]$ ]]; then exit 2; fi'
    script = 'R=${R:-"[0]"}\n' + guard + "\ntorchrun --nproc_per_node 8 train.py\n"
    (job,) = read_jobs({"job.sh": script})
    assert not job.stops

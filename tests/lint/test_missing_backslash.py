"""PAR802 where a line lacks its backslash: found where bash runs the options below it, silent elsewhere."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.finding import Finding
from parc.lint.judging import LintOptions, judge

CUT = """\
torchrun --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 32
    --hidden-size 4096 \\
    --bf16
"""
WHOLE = CUT.replace("32\n", "32 \\\n")


def found(text: str) -> list[Finding]:
    judged = judge(read_jobs({"run.sh": text}), LintOptions(select=("PAR802",)))
    return [finding for job in judged for finding in job.findings]


def test_what_is_below_is_lost_and_the_edit_mends_it() -> None:
    (finding,) = found(CUT)
    assert finding.diagnostic.severity == "error"
    assert "2 lines of options below it are lost" in finding.diagnostic.message
    (edit,) = finding.edits
    assert CUT[: edit.start] + edit.text + CUT[edit.end :] == WHOLE


@pytest.mark.parametrize(
    "text", [CUT.replace("32\n", "32 \t\n"), "# begin\n\n" + CUT, CUT.replace("layers", "l" * 9)]
)
def test_the_edit_leaves_a_script_without_the_fault(text: str) -> None:
    (finding,) = found(text)
    (edit,) = finding.edits
    mended = text[: edit.start] + edit.text + text[edit.end :]
    assert mended == text.replace("32 \t\n", "32\n").replace("32\n", "32 \\\n")
    assert found(mended) == []


@pytest.mark.parametrize("text", [CUT.replace("32\n", "32  # of 48\n"), CUT.replace("\n", "\r\n")])
def test_what_an_edit_would_not_mend_is_left_to_the_user(text: str) -> None:
    assert [finding.edits for finding in found(text)] == [()]


ARRAY = """\
ARGS=(
    --num-layers 32 \\
    --hidden-size 4096
    --bf16
)
torchrun --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}"
"""
TEXT = """\
read -r -d '' command <<EOF
pretrain_gpt.py \\
    --num-layers 32
    --hidden-size 4096
EOF
torchrun --nproc-per-node 8 $command
"""
USAGE = """\
echo "train.sh \\
    --size 32
    --help"
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32
"""
TWO = """\
torchrun --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 32
if true; then
    echo done
fi
"""


@pytest.mark.parametrize("text", [WHOLE, ARRAY, TEXT, USAGE, TWO])
def test_it_is_silent_where_bash_runs_no_option(text: str) -> None:
    assert found(text) == []

"""One cause is one finding: of a file that many jobs share, and of a command that is cut once."""

from __future__ import annotations

from parc.backends.launch_files import read_jobs
from parc.lint.finding import Finding
from parc.lint.judging import LintOptions, judge

SHARED = """#SBATCH --nodes=1
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 1024 \\
    --num-attention-heads 16 --tensor-model-parallel-size 6
"""


def _findings(texts: dict[str, str], code: str) -> list[Finding]:
    judged = judge(read_jobs(texts, folder=texts.get), LintOptions())
    return [found for job in judged for found in job.findings if found.code == code]


def _jobs(count: int) -> dict[str, str]:
    return {f"job{i}.sh": f"LAYERS={6 * i + 6}\nsource ./shared.sh\n" for i in range(count)}


def test_a_shared_file_is_complained_of_once() -> None:
    (found,) = _findings({**_jobs(11), "shared.sh": SHARED}, "PAR111")
    assert found.diagnostic.span is not None and found.diagnostic.span.source.name == "shared.sh"
    note = found.diagnostic.notes[-1].message
    assert note == "the same holds for job1.sh, job2.sh, job3.sh and 7 more"


def test_one_job_has_no_such_note() -> None:
    (found,) = _findings({**_jobs(1), "shared.sh": SHARED}, "PAR111")
    assert not any("the same holds" in note.message for note in found.diagnostic.notes)


def test_what_each_script_says_itself_is_said_of_each() -> None:
    own = {f"job{i}.sh": SHARED.replace("$LAYERS", "24") for i in range(3)}
    assert len(_findings(own, "PAR111")) == 3


def test_a_cut_command_is_one_finding_with_every_lost_option() -> None:
    lost = "".join(f"    --option-{i} {i} \\\n    # --other-{i} \\\n" for i in range(20))
    script = f"torchrun train.py \\\n    # --bf16 \\\n{lost}    --last 1\n"
    (found,) = _findings({"job.sh": script}, "PAR802")
    assert "21 lines of options" in found.diagnostic.message
    places = [note.span.line for note in found.diagnostic.notes if note.span]
    assert places == [*range(3, 43, 2), 43]


def test_comments_in_a_row_cut_a_command_once_at_the_first() -> None:
    script = "torchrun train.py \\\n  # --a \\\n  # --b \\\n  --c \\\n  # --d \\\n  --e\n"
    (found,) = _findings({"job.sh": script}, "PAR802")
    assert found.diagnostic.span and found.diagnostic.span.line == 2
    assert [note.span.line for note in found.diagnostic.notes if note.span] == [4, 6]
    ended = "torchrun train.py \\\n  # --a \\\n  # --b\ntorchrun b.py \\\n  --c\n"
    assert not _findings({"job.sh": ended}, "PAR802")


def test_every_blank_of_a_cut_command_is_cured_at_once() -> None:
    script = "torchrun train.py \\ \n    --bf16 \\  \n    --lr 1\ntorchrun b.py \\ \n    --lr 1\n"
    first, second = _findings({"job.sh": script}, "PAR802")
    assert [script[edit.start : edit.end] for edit in first.edits] == [" ", "  "]
    assert len(second.edits) == 1

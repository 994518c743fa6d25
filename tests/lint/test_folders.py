"""Folders that a job needs and nothing makes, and the folder of a batch script that SLURM copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.reading.bash.script import read_script
from tests.support.linted import Captured, findings

BATCH = "#!/bin/bash\n#SBATCH --nodes=1\n"
RUN = "torchrun --nproc-per-node 8 train.py"


def levels(capsys: Captured, code: str, text: str, **files: str) -> list[object]:
    """The levels at which `parc lint .` says a code of `job.sbatch` and of files beside it."""
    Path("job.sbatch").write_text(text)
    for name, content in files.items():
        Path(".".join(name.rsplit("_", 1))).write_text(content)
    return [found["severity"] for found in findings(capsys, ".") if found["code"] == code]


@pytest.mark.parametrize(
    "body, expected",
    {
        "sourced": ('. "$(dirname "$0")/env.sh"\n', ["error"]),
        "a variable and a deeper folder": (
            'D=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" &> /dev/null && pwd)\nsrun python $D/a/x.py\n',
            ["error"],
        ),
        "cut from a path": ("S=$(readlink -f $0)\nsrun python ${S%/*}/x.py\n", ["error"]),
        "a default": ('C=${C:-"$(dirname $0)/a.json"}\nsrun python /x.py --c $C\n', ["error"]),
        "a command that grows": (
            'D=$(dirname $0)\nC="torchrun"\nC="$C $D/x.py"\nsrun $C\n', ["error"],
        ),
        "a change of folder": ("cd ${0%/*}/..\nsrun python train.py\n", ["error"]),
        "a change of folder that nothing needs": ("cd ${0%/*}\nsrun python /x/train.py\n", ["info"]),
        "SLURM's folder first": (
            "D=${SLURM_SUBMIT_DIR:-$(dirname $0)}\nsrun python $D/x.py\n", [],
        ),
        "another branch": (
            "if [[ $1 ]]; then D=$1; else D=$(dirname $0); fi\nsrun python $D/x.py\n", [],
        ),
        "a test of SLURM": (
            'if [ -z "$SLURM_JOB_ID" ]; then D=$(dirname $0); bash $D/a.sh; exit; fi\nsrun python x.py\n', [],
        ),
        "the copy itself": ('cp "$0" out/\nsbatch "$0"\nsrun python x.py $(basename $0)\n', []),
        "printed alone": ('echo "$(dirname $0)"\nsrun python x.py\n', []),
        "a function that nothing calls": ("f() { . $(dirname $0)/a.sh; }\nsrun python x.py\n", []),
    }.values(),
)  # fmt: skip
def test_the_folder_of_a_copy(body: str, expected: list[object], capsys: Captured) -> None:
    assert levels(capsys, "PAR684", BATCH + body) == expected


def test_a_script_that_writes_a_batch_script_has_its_own_folder(capsys: Captured) -> None:
    submits = (
        '#!/bin/bash\nD=$(dirname "$0")\ncat > $D/a.job <<END\n#!/bin/bash\n#SBATCH --nodes=1\n'
        "python train.py --config $D/a.yaml\nEND\nsed s/X/1/ $D/a.in > $D/a.yaml\nsbatch $D/a.job\n"
        'python "$D/watch.py"\n'
    )
    assert not levels(capsys, "PAR684", submits)
    assert levels(capsys, "PAR684", BATCH + 'D=$(dirname "$0")\npython "$D/watch.py"\n') == [
        "error"
    ]


def test_a_script_that_a_shell_starts_has_its_own_folder(capsys: Captured) -> None:
    body = BATCH + '. "$(dirname "$0")/env.sh"\npython train.py\n'
    run = "#!/bin/bash\nbash job.sbatch\n"
    Path("plain.sh").write_text(body.replace("#SBATCH", "#"))
    assert not levels(
        capsys, "PAR684", "#!/bin/bash\n", run_sh=run, plain_sh=body.replace("#SBATCH", "#")
    )


@pytest.mark.parametrize(
    "text, expected",
    {
        "all of it": (f"{RUN} &> logs/x.log\n", ["error"]),
        "errors": (f"nohup {RUN} 2>> ./logs/x.log &\n", ["error"]),
        "a name that grows": (f"L=logs/run\n{RUN} > $L/$(date +%s).log 2>&1\n", ["error"]),
        "inside of a step": (f"srun bash -c '{RUN} > logs/x.log'\n", ["error"]),
        "tee": (f"{RUN} | tee -a logs/x.log\n", ["warning"]),
        "made": (f"mkdir -p logs\n{RUN} &> logs/x.log\n", []),
        "made with one below": (f"mkdir -p logs/a\n{RUN} &> logs/x.log\n", []),
        "perhaps made": (f"mkdir -p $1\n{RUN} &> logs/x.log\n", []),
        "not known": (f"{RUN} &> $LOGS/x.log\n", []),
        "no folder": (f"{RUN} &> x.log\n", []),
        "of the machine": (f"{RUN} &> /data/logs/x.log\n", []),
        "another folder of work": (f"cd work\n{RUN} &> logs/x.log\n", []),
        "written before": (f"python prepare.py --out logs/a\n{RUN} &> logs/x.log\n", []),
        "there": (f"{RUN} &> there/x.log\n", []),
        "a small program": ("date > logs/x\n" + RUN + "\n", []),
    }.values(),
)  # fmt: skip
def test_redirections(text: str, expected: list[object], capsys: Captured) -> None:
    Path("there").mkdir()
    assert levels(capsys, "PAR813", "#!/bin/bash\n" + text) == expected


def test_a_deeper_folder_is_made_too_late_as_well(capsys: Captured) -> None:
    text = "#!/bin/bash\n#SBATCH --output=logs/%j.out\nmkdir {} logs/steps\nsrun python train.py\n"
    assert levels(capsys, "PAR647", text.format("-p")) == ["error"]
    assert levels(capsys, "PAR647", text.format("-m 700")) == ["warning"]
    assert not levels(
        capsys, "PAR647", text.format("-p"), go_sh="mkdir -p logs\nsbatch job.sbatch\n"
    )


@pytest.mark.parametrize(
    "directive, others, expected",
    [
        ("--output=logs/%j.out", {}, ["warning"]),
        ("--error=logs/%j.err", {}, ["warning"]),
        ("-o logs/%j.out\n#SBATCH -e logs/%j.err", {}, ["warning"]),
        ("--output=logs/%j.out", {".gitignore": "logs/\n"}, ["info"]),
        ("--output=logs/%j.out", {"README.md": "First `mkdir logs`.\n"}, []),
        ("--output=logs/%j.out", {"go.sh": "mkdir logs\nsbatch job.sbatch\n"}, []),
        ("--output=there/%j.out", {}, []),
        ("--output=logs/%j.out\n#SBATCH --chdir=/work", {}, []),
        ("--output=/scratch/logs/%j.out", {}, []),
        ("--output=%x/%j.out", {}, []),
        ("--output=%x-%j.out", {}, []),
    ],
)
def test_output_into_a_folder_that_nothing_makes(
    directive: str, others: dict[str, str], expected: list[object], capsys: Captured
) -> None:
    Path("there").mkdir()
    for name, text in others.items():
        Path(name).write_text(text)
    text = f"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH {directive}\nsrun python train.py\n"
    assert levels(capsys, "PAR647", text) == expected


def test_the_trace_has_the_files_that_redirections_open() -> None:
    text = "a &>x/a 3<y\n{ b >>x/b 2>&1; } 2>x/c\nc >/dev/null >&x/d\nd <x/e | e\n"
    opened = {
        each.words[0].lead: [word.lead for word in each.opens]
        for each in read_script("", text).trace
    }
    assert opened == {"a": ["x/a"], "b": ["x/c", "x/b"], "c": ["x/d"], "d": [], "e": []}

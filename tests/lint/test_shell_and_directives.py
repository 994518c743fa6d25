"""Values of directives and words of bash that stop a job as it starts, beside what looks like them.

What sbatch and a job do with each directive was measured with SLURM 22.05.8, on two emulated nodes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

BATCH = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\n{}\nsrun torchrun --nproc-per-node 4 t.py\n"
#: A directive, and what is said of it.
DIRECTIVES = {
    "--cpus-per-task=": "PAR660",
    "--time=": "PAR660",
    "--partition=": "PAR660",
    "--gres=": "PAR660",
    "--mem=": "PAR660",
    "--ntasks-per-node=": "PAR660",
    "--signal=": "PAR660",
    "--open-mode=": "PAR660",
    "--output=": "PAR660",
    "--error=": "PAR660",
    "--partition": "PAR660",
    "-t": "PAR660",
    "--account=": None,
    "--gpus=": None,
    "--ntasks={{ tasks }}": None,
    "--qos=": None,
    "--job-name=": None,
    "--exclusive": None,
    "--requeue": None,
    "--time={minutes}": None,
    "--partition=<name>": None,
    "--output=~/run.log": "PAR633",
    '--error="~/run.log"': "PAR633",
    "--chdir=~": "PAR633",
    "--output=run~1.log": None,
    "--comment=~/run": None,
}
#: Those that an option of sbatch's command line may replace, as it did with SLURM 22.05.8.
REPLACED = ("--partition=", "--gres=", "--output=", "--error=")


def said(capsys: Captured, files: dict[str, str], *codes: str) -> list[tuple[object, object]]:
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    found = findings(capsys, ".")
    return [(each["code"], each["severity"]) for each in found if each["code"] in codes]


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_a_directive(directive: str, capsys: Captured) -> None:
    code = DIRECTIVES[directive]
    files = {"a.sbatch": BATCH.format(f"#SBATCH {directive}")}
    level = "info" if directive in REPLACED else "error"
    expected = [(code, level)] if code else []
    assert said(capsys, files, "PAR660", "PAR633") == expected


def test_a_form_that_is_to_be_filled_in(capsys: Captured) -> None:
    form = "#SBATCH --partition=\n#SBATCH --time=\n#SBATCH --cpus-per-task="
    assert said(capsys, {"a.sbatch": BATCH.format(form)}, "PAR660") == [("PAR660", "info")]


@pytest.mark.parametrize(
    ("first", "levels"),
    [
        ("#!bin/bash", ["error"]),
        ("#! usr/bin/env bash", ["error"]),
        ("#!bash", ["error"]),
        ("#! /bin/bash", []),
        ("#!/usr/bin/env -S bash -l", []),
        ("#!{{ shell }}", []),
    ],
)
def test_the_interpreter_of_a_batch_script(first: str, levels: list[str], capsys: Captured) -> None:
    text = BATCH.format("").replace("#!/bin/bash", first)
    assert [level for _, level in said(capsys, {"a.sbatch": text}, "PAR805")] == levels
    assert said(capsys, {"a.sbatch": text.replace("#SBATCH ", "# ")}, "PAR805") == []


RUN = "torchrun --nproc-per-node 4 t.py --output_dir o --learning_rate 1e-5\n"


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ('OUT="~/runs"\nmkdir -p $OUT\n', 1),
        ('OUT=\'~/runs\'\nmkdir -p "$OUT/a"\nmkdir -p "$OUT/b"\n', 1),
        ('cd "~/code"\n', 1),
        ('source "~/env.sh"\n', 1),
        ('for one in a b; do mkdir -p "~/runs/$one"; done\n', 1),
        ("OUT=~/runs\nmkdir -p $OUT\n", 0),
        ('mkdir -p ~/"my runs"\n', 0),
        ('OUT="~/runs"\neval "mkdir -p $OUT"\n', 0),
        ('OUT="~/runs"\nCMD="mkdir -p $OUT"\neval $CMD\n', 0),
        ('echo "~/runs"\n', 0),
        ('OUT="~/runs"\nOUT="${OUT/#\\~/$HOME}"\nmkdir -p $OUT\n', 0),
    ],
)
def test_a_tilde_in_quotes(script: str, count: int, capsys: Captured) -> None:
    assert said(capsys, {"a.sh": script + RUN}, "PAR817") == [("PAR817", "error")] * count


def test_a_log_below_a_quoted_tilde(capsys: Captured) -> None:
    assert said(capsys, {"a.sh": RUN.strip() + ' > "~/log.txt"\n'}, "PAR817")
    assert not said(capsys, {"a.sh": RUN.strip() + " > ~/log.txt\n"}, "PAR817")
    assert not said(capsys, {"a.sh": RUN.replace("--output_dir o", '--output_dir "~/o"')}, "PAR817")


HEADER = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("bash a.sh --lr 1\n", True),
        ("bash ./a.sh &\n", True),
        ('if [ -z "$IN" ]; then\n  IN=1 bash a.sh\nfi\n', False),
        ('[ -n "$IN" ] || bash a.sh\n', False),
        ('if [ "$1" = in ]; then\n  exit 0\nfi\nbash a.sh in\n', False),
        ("again() {\n  bash a.sh\n}\n", False),
        ("sbatch a.sh\n", False),
        ("bash b.sh\n", False),
    ],
)
def test_a_script_that_starts_itself(script: str, expected: bool, capsys: Captured) -> None:
    files = {"a.sh": HEADER + script, "b.sh": RUN}
    assert said(capsys, files, "PAR818") == [("PAR818", "error")] * expected


def test_a_file_of_that_name_above_is_meant(capsys: Captured) -> None:
    files = {"scripts/a.sh": HEADER + "bash a.sh\n", "a.sh": RUN}
    assert not said(capsys, files, "PAR818")


PROCESSES = "srun torchrun --nproc-per-node 8 train.py\n"
GPUS = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n"


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("--ntasks-per-node=1", True),
        ("--ntasks=2", True),
        ("--cpus-per-task=96", False),
        ("--cpus-per-gpu=12", False),
        ("--exclusive", False),
        ("--ntasks-per-node=8", False),
        ("--ntasks=16", False),
    ],
)
def test_cores_of_the_processes(directive: str, expected: bool, capsys: Captured) -> None:
    files = {"a.sbatch": f"{GPUS}#SBATCH {directive}\n{PROCESSES}"}
    assert said(capsys, files, "PAR669") == [("PAR669", "info")] * expected


@pytest.mark.parametrize(
    ("name", "level"),
    [("zero3_new.json", "warning"), ("conf/zero3_new.json", "info"), ("other_name.json", "info")],
)
def test_a_config_that_lies_there_by_nearly_that_name(
    name: str, level: str, capsys: Captured
) -> None:
    files = {"a.sh": f"deepspeed t.py --output_dir o --learning_rate 1e-5 --deepspeed {name}\n"}
    config = '{"train_batch_size": "auto", "zero_optimization": {"stage": 3}}'
    assert said(capsys, {**files, "zero3.json": config}, "PAR806") == [("PAR806", level)]


def test_a_batch_below_one_is_said_once(capsys: Captured) -> None:
    model = (
        "--num-layers 2 --hidden-size 8 --num-attention-heads 2 --seq-length 8 --micro-batch-size 1"
    )
    files = {
        "a.sh": f"torchrun --nproc-per-node 8 pretrain_gpt.py {model} --global-batch-size -9\n"
    }
    assert said(capsys, files, "PAR201", "PAR373") == [("PAR373", "error")]

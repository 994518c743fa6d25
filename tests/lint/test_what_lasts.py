"""What a job keeps from start to start: each fault beside what looks like it and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.lint.judging import LintOptions
from parc.lint.run import lint_texts
from tests.support.linted import Captured, codes, findings

HEAD = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=h100:8\n#SBATCH --time=24:00:00\n"
SIZES = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 100000 --lr 1e-4"
MEGATRON = f"srun torchrun --nproc-per-node 8 pretrain_gpt.py {SIZES}"
KEEPS = "--save /s/a --load /s/a --save-interval 500"
REQUEUE = HEAD + "#SBATCH --requeue\n#SBATCH --open-mode=append\n"
CHAIN = 'if [ -z "$SLURM_JOB_ID" ]; then\n  sbatch "$0"\n  exit\nfi\n'


def said(capsys: Captured, code: str, **files: str) -> bool:
    """Whether `parc lint .` says a code of the files, whose names have `_` for the last dot."""
    for name, text in files.items():
        Path(".".join(name.rsplit("_", 1))).write_text(text)
    return code in codes(capsys, ".", "--own-levels")


@pytest.mark.parametrize(
    "script, expected",
    [
        (f"{REQUEUE}{MEGATRON}\n", True),
        (f"{REQUEUE}{MEGATRON} --save /s/a --save-interval 5\n", True),
        (f"{REQUEUE}{MEGATRON} --save /s/a --load /s/b --save-interval 5\n", True),
        (f"{REQUEUE}{MEGATRON} {KEEPS} --finetune\n", True),
        (f"{REQUEUE}{MEGATRON} {KEEPS}\n", False),
        (f"{REQUEUE}{MEGATRON} --save /s/a/ --load /s/a --save-interval 5\n", False),
        (f"{REQUEUE}{MEGATRON} --save $RUN --load $RUN --save-interval 5\n", False),
        (f"{REQUEUE}{MEGATRON} $(cat more)\n", False),
        (f"{REQUEUE}#SBATCH --no-requeue\n{MEGATRON}\n", False),
        (f"{HEAD}{MEGATRON}\n", False),
        (f'{HEAD}{MEGATRON} || scontrol requeue "$SLURM_JOB_ID"\n', True),
        (f'{HEAD}{MEGATRON}\nsbatch --dependency=afterany:$SLURM_JOBID "$0"\n', True),
        (f"{HEAD}{CHAIN}{MEGATRON}\n", False),
        (f"{HEAD}#SBATCH --array=1-9%1\n{MEGATRON}\n", True),
        (f"{HEAD}#SBATCH --array=1-9%1\n{MEGATRON} --seed $SLURM_ARRAY_TASK_ID\n", False),
        (f"{HEAD}#SBATCH --array=1-9%2\n{MEGATRON}\n", False),
    ],
)
def test_a_start_that_begins_anew(script: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR671", job_sh=script) == expected


def test_what_a_caller_may_give_makes_hints(capsys: Captured) -> None:
    script = f"{REQUEUE}#SBATCH --signal=USR1@600\n{MEGATRON} --save /s/a --save-interval 5"
    for more, level in (("", "warning"), ('"$@"', "info")):
        Path("job.sh").write_text(f"{script} {more}\n")
        found = findings(capsys, "job.sh", "--own-levels")
        levels = {each["code"]: each["severity"] for each in found}
        assert (levels["PAR671"], levels["PAR673"]) == (level, level)


TITAN = "srun torchrun --nproc-per-node 8 -m torchtitan.train --job.config_file t.toml"
TOML = '[job]\ndump_folder = "/s"\n[training]\nsteps = 9\nseq_len = 8\n[checkpoint]\nenable = {}\n'
FACTORY = "model_name_or_path: a\nstage: sft\nfinetuning_type: lora\noutput_dir: /s/a\n"
FACTORY += "per_device_train_batch_size: 1\nlearning_rate: 1e-4\n"
AXOLOTL = "base_model: a\nmicro_batch_size: 1\noutput_dir: /s/a\nlearning_rate: 1e-4\n"


@pytest.mark.parametrize(
    "command, name, text, expected",
    [
        (TITAN, "t_toml", TOML.format("false"), True),
        (TITAN, "t_toml", TOML.format("true"), False),
        (f"{TITAN} --checkpoint.enable", "t_toml", TOML.format("false"), False),
        (f"{TITAN} $(cat more)", "t_toml", TOML.format("false"), False),
        (TITAN, "other_toml", TOML.format("false"), False),
        ("srun llamafactory-cli train a.yaml", "a_yaml", FACTORY, False),
        (
            "srun llamafactory-cli train a.yaml",
            "a_yaml",
            FACTORY + "overwrite_output_dir: true\n",
            True,
        ),
        (
            "srun llamafactory-cli train a.yaml",
            "a_yaml",
            FACTORY + 'save_strategy: "no"\n',
            True,
        ),
        ("srun axolotl train a.yaml", "a_yaml", AXOLOTL, True),
        (
            "srun axolotl train a.yaml",
            "a_yaml",
            AXOLOTL + "auto_resume_from_checkpoints: true\n",
            False,
        ),
    ],
)
def test_programs_with_their_own_way_back(
    command: str, name: str, text: str, expected: bool, capsys: Captured
) -> None:
    script = f"{REQUEUE}{command}\n"
    assert said(capsys, "PAR671", job_sh=script, **{name: text}) == expected


LARGE = (
    "srun torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --bf16 "
    "--ffn-hidden-size 28672 --swiglu --num-attention-heads 64 --seq-length 8192 --micro-batch-size 1 "
    "--global-batch-size 1024 --train-iters 100000 --lr 1e-4 --max-position-embeddings 8192 "
    "--save /s/a --load /s/a"
)
TERM = "#SBATCH --signal=TERM@600\n"


@pytest.mark.parametrize(
    "script, expected",
    [
        (f"{HEAD}{LARGE} --save-interval 1000\n", True),
        (f"{HEAD}{LARGE} --save-interval 50\n", False),
        (f"{HEAD}{LARGE} --save-interval 1000 --non-persistent-save-interval 50\n", False),
        (f"{HEAD}{LARGE} --save-interval $EVERY\n", False),
        (f"{HEAD}{LARGE} --save-interval 1000 --exit-duration-in-mins 1400\n", False),
        (f"{HEAD}{TERM}{LARGE} --save-interval 1000 --exit-signal-handler\n", False),
        (f"{HEAD}{TERM}{LARGE} --save-interval 1000\n", True),
        (f"{HEAD.replace('24:00:00', '00:20:00')}{LARGE} --save-interval 1000\n", False),
        (f"{HEAD.replace('24:00:00', '20-0')}{LARGE} --save-interval 100\n", False),
    ],
)
def test_an_interval_over_the_wall_time(script: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR672", job_sh=script) == expected


def test_the_arithmetic_of_a_step_bounds_the_interval() -> None:
    """8 H100 at 989 TFLOP/s, 8.4 M tokens of 79 G weights in three passes: 8.5 minutes a step at least."""
    Path("job.sh").write_text(f"{HEAD}{LARGE} --save-interval 1000\n")
    options = LintOptions(select=("PAR672",))
    (job,) = lint_texts({"job.sh": Path("job.sh").read_text()}, options, {})
    (found,) = job.findings
    hours = float(str(found.diagnostic.message).split("at least ")[1].split(" h")[0])
    weights = 80 * (4 * 8192 * 8192 + 3 * 8192 * 28672)
    least = 1000 * 6 * weights * 8192 * 1024 / (8 * 989e12) / 3600
    assert least < hours < 1.2 * least


TRAP = "trap 'scancel --signal=TERM \"$SLURM_JOB_ID\"' USR1\n"


@pytest.mark.parametrize(
    "lines, options, expected",
    [
        ("#SBATCH --signal=USR1@600\n", "", True),
        ("#SBATCH --signal=USR1@600\n", "--exit-signal-handler", True),
        ("#SBATCH --signal=USR1@600\n", "--exit-signal-handler --exit-signal SIGUSR1", False),
        ("#SBATCH --signal=TERM@600\n", "--exit-signal-handler", False),
        ("#SBATCH --signal=15@600\n", "--exit-signal-handler", False),
        (f"#SBATCH --signal=B:USR1@600\n{TRAP}", "", True),
        (f"#SBATCH --signal=B:USR1@600\n{TRAP}", "--exit-signal-handler", False),
        (
            "#SBATCH --signal=B:USR1@600\ntrap 'kill -USR1 $STEP' USR1\n",
            "--exit-signal-handler",
            True,
        ),
        ("#SBATCH --signal=B:USR1@600\ntrap 'kill $STEP' USR1\n", "--exit-signal-handler", False),
        ("#SBATCH --signal=B:USR1@600\ntrap 'touch /s/stop' USR1\n", "", False),
        ("#SBATCH --signal=USR1@600\n", "--exit-duration-in-mins 1400", False),
        ("#SBATCH --signal=USR1@600\n", "$(cat more)", False),
        ("", "", False),
    ],
)
def test_a_signal_that_nothing_handles(
    lines: str, options: str, expected: bool, capsys: Captured
) -> None:
    assert (
        said(capsys, "PAR673", job_sh=f"{HEAD}{lines}{MEGATRON} {KEEPS} {options} &\nwait\n")
        == expected
    )


def test_a_program_that_sets_a_handler_itself(capsys: Captured) -> None:
    script = f"{HEAD}#SBATCH --signal=USR1@600\n{MEGATRON} {KEEPS}\n"
    program = "import signal\nsignal.signal(signal.SIGUSR1, print)\n"
    assert not said(capsys, "PAR673", job_sh=script, pretrain_gpt_py=program)


def test_torchtitan_handles_no_signal_unless_a_module_of_the_job_does(capsys: Captured) -> None:
    script = f"{HEAD}#SBATCH --signal=TERM@600\n{TITAN}\n"
    plain, own = TOML.format("true"), '[experimental]\ncustom_import = "stop"\n'
    assert said(capsys, "PAR673", job_sh=script, t_toml=plain)
    assert not said(capsys, "PAR673", job_sh=script, t_toml=plain + own)


TRAPPED = f"{HEAD}#SBATCH --signal=B:USR1@300\ntrap 'scancel -s TERM $SLURM_JOB_ID' USR1\n"


@pytest.mark.parametrize(
    "body, expected",
    [
        ("srun python train.py", True),
        ("srun python train.py &\nwait", False),
        ("if ! srun python train.py; then exit 1; fi", True),
        ("exec srun python train.py", True),
        ("torchrun --nproc-per-node 8 train.py", True),
        ("exec torchrun --nproc-per-node 8 train.py", True),
        ("torchrun --nproc-per-node 8 train.py &\nwait $!", False),
        ("run() {\n  srun python train.py\n}\nrun &\nwait", False),
        ("OMP_NUM_THREADS=1 torchrun --nproc-per-node 8 train.py & step=$!\nwait $step", False),
    ],
)
def test_a_trap_behind_the_foreground(body: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR651", job_sh=f"{TRAPPED}{body}\n") == expected

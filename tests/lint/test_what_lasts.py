"""What a job keeps from start to start: each fault beside what looks like it and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        (f'{REQUEUE}{MEGATRON} "$@"\n', False),
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


def test_the_arithmetic_of_a_step_bounds_the_interval(capsys: Captured) -> None:
    """8 H100 at 989 TFLOP/s, 8.4 M tokens of 79 G weights in three passes: 8.5 minutes a step at least."""
    Path("job.sh").write_text(f"{HEAD}{LARGE} --save-interval 1000\n")
    codes(capsys, "job.sh")
    from parc.lint.files import read_texts
    from parc.lint.judging import LintOptions
    from parc.lint.run import lint_texts

    options = LintOptions(select=("PAR672",))
    (job,) = lint_texts(read_texts(["job.sh"]).texts, options, {})
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
        ("#SBATCH --signal=USR1@600\n", '"$@"', False),
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


STEP = "srun --container-image=/i.sqsh {} torchrun --nproc-per-node 8 pretrain_gpt.py " + SIZES
MOUNTS = "--container-mounts=/data:/data,/s:/shared"


@pytest.mark.parametrize(
    "container, folder, expected",
    [
        (MOUNTS, "checkpoints", True),
        (MOUNTS, "/s/a", True),
        (MOUNTS, "/shared/a", False),
        ("--container-mounts=/data,/s", "/s/a", False),
        (f"{MOUNTS} --container-workdir=/shared", "checkpoints", False),
        (f"{MOUNTS} --container-workdir=/workspace", "checkpoints", True),
        (f"{MOUNTS} --container-workdir=$PWD", "checkpoints", False),
        (f"{MOUNTS} --container-name=run", "checkpoints", False),
        ("--container-mounts=$MOUNTS", "/s/a", False),
        ("", "/s/a", False),
        ("", "checkpoints", True),
        (MOUNTS, "/home/me/a", False),
        (MOUNTS, "$RUN", False),
    ],
)
def test_checkpoints_in_a_container(
    container: str, folder: str, expected: bool, capsys: Captured
) -> None:
    step = f"{STEP.format(container)} --save {folder} --load {folder} --save-interval 5\n"
    assert said(capsys, "PAR674", job_sh=HEAD + step) == expected


def test_a_container_in_which_the_script_moves(capsys: Captured) -> None:
    command = f"cd /shared && torchrun --nproc-per-node 8 pretrain_gpt.py {SIZES} --save a --load a"
    step = f"srun --container-image=/i.sqsh {MOUNTS} bash -c '{command} --save-interval 5'\n"
    assert not said(capsys, "PAR674", job_sh=HEAD + step)


@pytest.mark.parametrize(
    "array, lines, folder, expected",
    [
        ("0-3", "", "/s/a", True),
        ("1,5", "", "out", True),
        ("0-3%2", "", "/s/a", True),
        ("0-3%1", "", "/s/a", False),
        ("4", "", "/s/a", False),
        ("0-3", "", "/s/$SLURM_ARRAY_TASK_ID", False),
        ("0-3", "cd run$SLURM_ARRAY_TASK_ID\n", "out", False),
        ("0-3", "RUN=$(ls | sed -n ${SLURM_ARRAY_TASK_ID}p)\n", "$RUN", False),
    ],
)
def test_tasks_of_an_array(
    array: str, lines: str, folder: str, expected: bool, capsys: Captured
) -> None:
    step = f"{MEGATRON} --save {folder} --load {folder} --save-interval 5\n"
    assert (
        said(capsys, "PAR677", job_sh=f"{HEAD}#SBATCH --array={array}\n{lines}{step}") == expected
    )


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


@pytest.mark.parametrize(
    "lines, expected",
    [
        ("", True),
        ("#SBATCH --open-mode=append\n", False),
    ],
)
def test_a_log_of_a_job_that_requeues_itself(lines: str, expected: bool, capsys: Captured) -> None:
    script = f'{HEAD}{lines}srun python train.py || scontrol requeue "$SLURM_JOB_ID"\n'
    assert said(capsys, "PAR648", job_sh=script) == expected


ALONE = "torchrun --nproc-per-node 8 pretrain_gpt.py {} --save {} --load {} --save-interval 500\n"
WIDE = SIZES.replace("4096", "8192")


def pair(one: str, two: str, folder: str, other: str) -> dict[str, str]:
    return {"a_sh": ALONE.format(one, folder, folder), "b_sh": ALONE.format(two, other, other)}


@pytest.mark.parametrize(
    "files, expected",
    [
        (pair(SIZES, WIDE, "/s/a", "/s/a"), True),
        (pair(SIZES, WIDE, "run", "./run/"), True),
        (pair(SIZES, SIZES.replace("1e-4", "2e-4"), "/s/a", "/s/a"), True),
        (pair(SIZES, SIZES, "/s/a", "/s/a"), False),
        (pair(SIZES, WIDE, "/s/a", "/s/b"), False),
        (pair(SIZES, WIDE, "$RUN", "$RUN"), False),
        (pair(SIZES, WIDE, "/s/<run>", "/s/<run>"), False),
        (pair(SIZES, f"{WIDE} --finetune", "/s/a", "/s/a"), False),
        ({"a_sh": "".join(pair(SIZES, WIDE, "/s/a", "/s/a").values())}, False),
        ({"a_sh": "cd x\n" + ALONE.format(SIZES, "r", "r"), **pair(SIZES, WIDE, "q", "r")}, False),
    ],
)
def test_two_trainings_in_one_folder(
    files: dict[str, str], expected: bool, capsys: Captured
) -> None:
    assert said(capsys, "PAR675", **files) == expected


def test_the_scripts_of_a_folder_are_told_once(capsys: Captured) -> None:
    files = pair(SIZES, WIDE, "/s/a", "/s/a")
    for name in ("a", "b", "c"):
        Path(f"{name}.sh").write_text(files["a_sh" if name == "a" else "b_sh"])
    assert [each["path"] for each in findings(capsys, ".") if each["code"] == "PAR675"] == ["b.sh"]


def test_containers_may_have_any_folder_there(capsys: Captured) -> None:
    step = f"srun --container-image=/i.sqsh --container-mounts=$RUN:/s {ALONE}"
    one, two = (step.format(sizes, "/s/a", "/s/a") for sizes in (SIZES, WIDE))
    assert not said(capsys, "PAR675", a_sh=HEAD + one, b_sh=HEAD + two)


def test_relative_folders_of_scripts_in_two_places(capsys: Captured) -> None:
    for folder, sizes in (("one", SIZES), ("two", WIDE)):
        Path(folder).mkdir()
        Path(folder, "train.sh").write_text(ALONE.format(sizes, "run", "run"))
    assert "PAR675" not in codes(capsys, ".")
    Path("one", "other.sh").write_text(ALONE.format(WIDE, "run", "run"))
    assert "PAR675" in codes(capsys, ".")


def checkpoint(*ranks: str) -> None:
    Path("run").mkdir()
    for rank in ranks:
        Path("run/iter_0000100", rank).mkdir(parents=True)
    Path("run/latest_checkpointed_iteration.txt").write_text("100\n")


TP, PP = "--tensor-model-parallel-size", "--pipeline-model-parallel-size"


@pytest.mark.parametrize(
    "ranks, degrees, expected",
    [
        (("mp_rank_00", "mp_rank_01"), f"{TP} 4", True),
        (("mp_rank_00", "mp_rank_01"), f"{TP} 2", False),
        (("mp_rank_00", "mp_rank_01"), f"{TP} 2 {PP} 2", True),
        (("mp_rank_00_000", "mp_rank_00_001"), f"{PP} 2", False),
        (("mp_rank_00_000", "mp_rank_00_001"), f"{PP} 4", True),
        (("mp_rank_00_000", "mp_rank_00_001"), "--num-experts 8", False),
        (("mp_rank_00", "mp_rank_01"), f"{TP} $TP", False),
        (("__0_0.distcp",), f"{TP} 4", False),
        ((), f"{TP} 4", False),
    ],
)
def test_checkpoints_of_another_layout(
    ranks: tuple[str, ...], degrees: str, expected: bool, capsys: Captured
) -> None:
    checkpoint(*ranks)
    script = ALONE.format(f"{SIZES} {degrees}", "run", "run")
    assert said(capsys, "PAR676", job_sh=script) == expected


def test_the_newest_of_the_checkpoints_counts(capsys: Captured) -> None:
    checkpoint("mp_rank_00", "mp_rank_01")
    Path("run/iter_0000200/mp_rank_00").mkdir(parents=True)
    script = ALONE.format(f"{SIZES} {TP} 2", "run", "run")
    assert not said(capsys, "PAR676", job_sh=script)
    Path("run/latest_checkpointed_iteration.txt").write_text("200")
    assert said(capsys, "PAR676", job_sh=script)


def test_a_folder_outside_of_what_is_named_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    checkpoint("mp_rank_00", "mp_rank_01")
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    Path("run").symlink_to(tmp_path / "run")
    script = ALONE.format(f"{SIZES} {TP} 4", "run", "run")
    assert not said(capsys, "PAR676", job_sh=script)
    assert not said(capsys, "PAR676", job_sh=script.replace(" run ", f" {tmp_path}/run "))


@pytest.mark.parametrize("ranks, expected", [(4, True), (8, False)])
def test_zero_of_another_number_of_ranks(ranks: int, expected: bool, capsys: Captured) -> None:
    step = Path("saves/checkpoint-500/global_step500")
    step.mkdir(parents=True)
    (step.parent / "latest").write_text("global_step500")
    for rank in range(ranks):
        (step / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").touch()
    config = '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}'
    text = FACTORY.replace("/s/a", "saves") + "deepspeed: ds.json\n"
    script = "FORCE_TORCHRUN=1 NNODES=1 NPROC_PER_NODE=8 llamafactory-cli train a.yaml\n"
    assert said(capsys, "PAR676", job_sh=script, a_yaml=text, ds_json=config) == expected

"""The folders of checkpoints: in containers, of arrays, of two trainings, and of another layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, codes, findings

HEAD = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=h100:8\n#SBATCH --time=24:00:00\n"
SIZES = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --train-iters 100000 --lr 1e-4"
MEGATRON = f"srun torchrun --nproc-per-node 8 pretrain_gpt.py {SIZES}"
FACTORY = (
    "model_name_or_path: a\nstage: sft\nfinetuning_type: lora\noutput_dir: saves\n"
    "per_device_train_batch_size: 1\nlearning_rate: 1e-4\ndeepspeed: ds.json\n"
)


def said(capsys: Captured, code: str, **files: str) -> bool:
    """Whether `parc lint .` says a code of the files, whose names have `_` for the last dot."""
    for name, text in files.items():
        Path(".".join(name.rsplit("_", 1))).write_text(text)
    return code in codes(capsys, ".", "--own-levels")


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


ALONE = "torchrun --nproc-per-node 8 pretrain_gpt.py {} --save {} --load {} --save-interval 500\n"
WIDE = SIZES.replace("4096", "8192")


DIVIDED = "--use-distributed-optimizer"
RESHARDABLE = f"{DIVIDED} --dist-ckpt-optim-fully-reshardable"


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


@pytest.mark.parametrize(
    "one, two, folder, expected",
    [
        (
            "--ckpt-format torch",
            "--ckpt-format torch --tensor-model-parallel-size 2",
            "/s/a",
            "error",
        ),
        (
            "--ckpt-format torch",
            "--ckpt-format torch --tensor-model-parallel-size 2",
            "s",
            "warning",
        ),
        (
            "--ckpt-format torch",
            "--ckpt-format torch --tensor-model-parallel-size ${T:-2}",
            "/s/a",
            "warning",
        ),
        (DIVIDED, f"{DIVIDED} --pipeline-model-parallel-size 2", "/s/a", "warning"),
        (RESHARDABLE, f"{RESHARDABLE} --pipeline-model-parallel-size 2", "/s/a", None),
        ("", "--tensor-model-parallel-size 2", "/s/a", None),
    ],
)
def test_layouts_that_do_not_resume_each_other(
    one: str, two: str, folder: str, expected: str | None, capsys: Captured
) -> None:
    """The distributed optimizer's state has had the form that stops since 0.15, and no release is known."""
    files = pair(f"{SIZES} {one}", f"{SIZES} {two}", folder, folder)
    for name, text in files.items():
        Path(name.replace("_", ".")).write_text(text)
    told = [
        each["severity"]
        for each in findings(capsys, ".", "--own-levels")
        if each["code"] == "PAR675"
    ]
    assert told == ([] if expected is None else [expected])


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
    script = "FORCE_TORCHRUN=1 NNODES=1 NPROC_PER_NODE=8 llamafactory-cli train a.yaml\n"
    assert said(capsys, "PAR676", job_sh=script, a_yaml=FACTORY, ds_json=config) == expected

"""What lies beside a script decides: folders, scripts that submit it, the program that it launches."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.dsl.diagnostics import JobError
from parc.lint.judging import LintOptions
from parc.lint.run import lint_paths
from parc.reading.named_folders import NamedFolders

JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --output=logs/%j.out\nmkdir -p logs\nsrun hostname\n"


def heard(code: str, *paths: str) -> bool:
    """Whether a rule says something of these files, or of the folder."""
    judged = lint_paths(list(paths) or ["."], LintOptions(select=(code,)), {})
    return any(job.findings for job in judged)


@pytest.mark.parametrize(
    "made, said",
    [("logs", False), ("jobs/logs", False), ("other", True), ("jobs/slurm/logs", False)],
)
def test_a_folder_that_is_there_is_no_finding(made: str, said: bool) -> None:
    Path("jobs/slurm").mkdir(parents=True)
    Path(made).mkdir(parents=True)
    Path("jobs/slurm/job.sh").write_text(JOB)
    assert heard("PAR647") == said


@pytest.mark.parametrize(
    "submitter, said",
    [
        ("mkdir -p logs\nfor n in 1 2; do\n  id=$(sbatch -N $n job.sh)\ndone\n", False),
        ('JOB=slurm/job.sh\nmkdir -p "$ROOT/logs"\nsbatch "$JOB"\n', False),
        ("sbatch job.sh\nmkdir -p logs\n", True),
        ("mkdir -p logs\nsbatch other_job.sh\n", True),
        ("mkdir -p logs/old\nsbatch job.sh\n", True),
        ("mkdir -p logs\n# sbatch job.sh\nsbatch other.sh\n", True),
    ],
)
def test_a_folder_that_the_submitting_script_makes_is_no_finding(
    submitter: str, said: bool
) -> None:
    Path("slurm").mkdir()
    Path("slurm/job.sh").write_text(JOB)
    Path("slurm/submit.sh").write_text(submitter)
    for path in (["."], ["slurm/job.sh"]):
        assert heard("PAR647", *path) == said


@pytest.mark.parametrize(
    "name, said",
    [("setup.sh", False), ("02_prepare-env.sh", False), ("clean.sh", True), ("setups.sh", True)],
)
@pytest.mark.parametrize("head", ["", "#SBATCH -o %x.out\n"])
def test_a_folder_that_a_script_of_set_up_makes_is_no_finding(
    head: str, name: str, said: bool
) -> None:
    Path("slurm").mkdir()
    Path("slurm/job.sh").write_text(JOB)
    Path(f"slurm/{name}").write_text(f'{head}python -m venv env\nmkdir -p "$HERE/logs"\n')
    assert heard("PAR647") == said


@pytest.mark.parametrize(
    "folder, level", [("jobs", "warning"), ("tests/exact", "info"), ("latest", "warning")]
)
def test_a_script_of_tests_may_be_slow_and_unfilled(folder: str, level: str) -> None:
    Path(folder).mkdir(parents=True)
    script = "#SBATCH --account=your_account\nexport CUDA_LAUNCH_BLOCKING=1\ntorchrun train.py\n"
    Path(folder, "run.sh").write_text(f"#!/bin/bash\n{script}")
    judged = lint_paths([f"{folder}/run.sh"], LintOptions(select=("PAR803", "PAR808")), {})
    assert [each.severity for job in judged for each in job.findings] == [level, level]


STARTS = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
srun bash {}
"""
STARTED = """torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 \\
    --num-attention-heads 32 --tensor-model-parallel-size 32
"""


@pytest.mark.parametrize(
    "path, jobs",
    [
        ("scripts/run.sh", 1),
        ("checkout/scripts/run.sh", 1),
        ("/home/me/checkout/scripts/run.sh", 1),
        ("$HOME/code/checkout/scripts/run.sh", 1),
        ("../checkout/scripts/run.sh", 1),
        ("other/scripts/run.sh", 2),
        ("checkout/scripts/none.sh", 2),
    ],
)
@pytest.mark.parametrize("inner, named", [("", "."), ("scripts", "run.sh")])
def test_a_path_through_the_checkouts_own_folder(
    path: str, jobs: int, inner: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "checkout"
    (top / "scripts").mkdir(parents=True)
    (top / ".git").mkdir()
    (top / "scripts" / "job.sbatch").write_text(STARTS.format(path))
    (top / "scripts" / "run.sh").write_text(STARTED)
    monkeypatch.chdir(top / inner)
    names = ["job.sbatch", "run.sh"] if named == "run.sh" else [named]
    assert len(lint_paths(names, LintOptions(), {})) == jobs


OWN = 'parser = argparse.ArgumentParser()\nparser.add_argument("--{}")\nargs = parser.{}()\n'
DEEPSPEED = (
    'cat > ds.json <<EOF\n{"train_micro_batch_size_per_gpu": 4}\nEOF\n'
    "torchrun --nproc_per_node 8 code/own.py --per_device_train_batch_size 1 --deepspeed_config ds.json\n"
)


@pytest.mark.parametrize(
    "option, parse, said",
    [
        ("batch_size", "parse_known_args", False),
        ("batch_size", "parse_args", True),
        ("per_device_train_batch_size", "parse_known_args", True),
    ],
)
def test_an_option_that_the_program_leaves_out(option: str, parse: str, said: bool) -> None:
    Path("code").mkdir()
    Path("code/own.py").write_text(OWN.format(option, parse))
    Path("job.sh").write_text(DEEPSPEED)
    assert heard("PAR207", "job.sh") == said


def test_a_folder_above_the_named_ones_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "inner").mkdir()
    folders = NamedFolders(tmp_path / "inner")
    assert not folders.has_folder("logs", "../job.sh")
    assert not folders.has_folder(str(tmp_path / "logs"), "job.sh")
    assert NamedFolders(tmp_path).has_folder("logs", "inner/job.sh")


OWN_CONFIG = """
@dataclass
class Validation:
    {}: bool = False
    \"\"\"Whether to validate.\"\"\"

    freq: int = 100
"""


@pytest.mark.parametrize("key, said", [("switch_on", False), ("enable", True)])
def test_a_key_that_the_torchtitan_of_the_repository_declares(key: str, said: bool) -> None:
    Path("torchtitan/config").mkdir(parents=True)
    Path("torchtitan/config/job_config.py").write_text(OWN_CONFIG.format(key))
    Path("torchtitan/configs").mkdir()
    config = "[training]\nlocal_batch_size = 8\nseq_len = 4096\n[validation]\nswitch_on = true\n"
    Path("torchtitan/configs/train.toml").write_text(config)
    assert heard("PAR365") == said


def test_an_argument_that_a_program_made_of_torchtitan_declares() -> None:
    Path("flow/models").mkdir(parents=True)
    Path("flow/config_manager.py").write_text('parser.add_argument("--training.dataset_nam")\n')
    config = "[training]\nlocal_batch_size = 8\ndataset_nam = 'c4'\nseq_le = 1\n"
    Path("flow/models/train.toml").write_text(config)
    judged = lint_paths(["."], LintOptions(select=("PAR365",)), {})
    messages = [each.diagnostic.message for job in judged for each in job.findings]
    assert len(messages) == 1 and "`seq_le`" in messages[0]


TRAINER = (
    "torchrun --nproc_per_node 2 train.py --output_dir out --per_device_train_batch_size 4 "
    "--learning_rate 1e-4 --evaluation_strategy steps\n"
)


@pytest.mark.parametrize(
    "program, said",
    [
        ("class Arguments:\n    evaluation_strategy: str = 'no'\n", False),
        ('parser.add_argument("--evaluation_strategy")\n', False),
        ("print('evaluation_strategy')\n", True),
    ],
)
def test_an_option_that_the_program_beside_the_script_declares(program: str, said: bool) -> None:
    Path("scripts").mkdir()
    Path("scripts/job.sh").write_text(TRAINER)
    Path("train.py").write_text(program)
    assert heard("PAR389") == said


@pytest.mark.parametrize(
    "readme, said",
    [
        ("```\nbash slurm/job.sh --all\n```\n", False),
        ("$ bash job.sh\n", False),
        ("bash slurm/job.sh, or on the cluster:\nsbatch slurm/job.sh\n", True),
        ("bash other_job.sh\n", True),
        ("The jobs of bash job.sh\n", True),
    ],
)
def test_a_script_that_the_readme_starts_by_bash_makes_its_folder_in_time(
    readme: str, said: bool
) -> None:
    Path("slurm").mkdir()
    Path("slurm/job.sh").write_text(JOB)
    Path("README.md").write_text(readme)
    assert heard("PAR647") == said


@pytest.mark.parametrize(
    "setup, said",
    [
        ("mkdir -p \\\n  data \\\n  logs\n", False),
        ("mkdir -p \\\n  data \\\n  logs/old\n", True),
        ("mkdir -p data\n  logs\n", True),
    ],
)
def test_a_folder_that_a_command_of_several_lines_makes(setup: str, said: bool) -> None:
    Path("job.sh").write_text(JOB)
    Path("setup.sh").write_text(setup)
    assert heard("PAR647", "job.sh") == said


TEMPLATE = "#SBATCH --job-name={}\n#SBATCH --gres=gpu:{}\nsrun python train.py --lr 1\n"


@pytest.mark.parametrize(
    "name, values, said",
    [
        ("job.sh", ("<NAME>", "<GPUS>"), {"PAR803"}),
        ("job_template.sh", ("<NAME>", "<GPUS>"), set()),
        ("job.sh", ("<NAME>", "8"), {"PAR803", "PAR805"}),
        ("job_template.sh", ("run", "8"), {"PAR805"}),
    ],
)
def test_a_template_is_there_to_be_filled_in(
    name: str, values: tuple[str, str], said: set[str]
) -> None:
    """What fills in several directives writes the first line, too."""
    Path(name).write_text(TEMPLATE.format(*values))
    options = LintOptions(own_levels=True, select=("PAR803", "PAR805"))
    judged = lint_paths([name], options, {})
    found = [found for job in judged for found in job.findings if found.severity != "info"]
    assert {each.code for each in found} == said


LOOP = "from transformers import HfArgumentParser\nfrom own.loop import {0}\n\n{0}(model).train()\n"


@pytest.mark.parametrize(
    "base, name, said",
    [
        ("", "OwnTrainer", False),
        ("(object)", "OwnTrainer", False),
        ("(Trainer)", "OwnTrainer", True),
        ("", "Loop", True),
    ],
)
def test_a_trainer_that_derives_from_nothing_takes_batches_as_it_likes(
    base: str, name: str, said: bool
) -> None:
    Path("src/own").mkdir(parents=True)
    Path("src/own/loop.py").write_text(f"class {name}{base}:\n    pass\n")
    Path("src/train.py").write_text(LOOP.format(name))
    Path("ds.json").write_text('{"train_micro_batch_size_per_gpu": 2}')
    arguments = "--deepspeed ds.json --output_dir o --per_device_train_batch_size 16"
    Path("job.sh").write_text(f"deepspeed --num_gpus 8 src/train.py {arguments}\n")
    assert heard("PAR207", "job.sh", "ds.json") == said


@pytest.mark.parametrize("page, said", [("CHECKLIST.md", False), ("CHECKLIST.txt", True)])
def test_any_page_may_say_to_make_the_folder(page: str, said: bool) -> None:
    Path("job.sh").write_text(JOB)
    Path("README.md").write_text("sbatch job.sh\n")
    Path(page).write_text("- [ ] logs (`mkdir -p logs`)\n")
    assert heard("PAR647") == said


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


@pytest.mark.parametrize(
    "config, said", [(POINTER.format("0" * 64, 788), False), ("version x\n", True)]
)
def test_a_pointer_of_lfs_is_no_config(config: str, said: bool) -> None:
    """Nor does it hide the other files of a folder; by its name it is refused with the cure."""
    Path("ds_config.json").write_text(config)
    Path("job.sh").write_text("deepspeed train.py --deepspeed ds_config.json\n")
    judged = lint_paths(["."], LintOptions(select=("PAR807",)), {})
    assert judged and any(job.findings for job in judged) == said


def test_a_named_pointer_of_lfs_is_refused() -> None:
    Path("ds_config.json").write_text(POINTER.format("0" * 64, 788))
    with pytest.raises(JobError, match="git lfs pull"):
        lint_paths(["ds_config.json"], LintOptions(), {})


@pytest.mark.parametrize(
    "declared, said",
    [
        ('eval_strategy: str = "steps"', False),
        ('evaluation_strategy="epoch"', False),
        ('save_strategy: str = "no"', False),
        ("learning_rate: float = 1e-4", True),
    ],
)
def test_a_program_may_have_a_strategy_of_its_own(declared: str, said: bool) -> None:
    Path("train.py").write_text(f"class Arguments:\n    {declared}\n")
    arguments = (
        "--output_dir o --learning_rate 1e-4 --num_train_epochs 1 --load_best_model_at_end True"
    )
    Path("job.sh").write_text(f"torchrun --nproc_per_node 8 train.py {arguments}\n")
    assert heard("PAR331", "job.sh") == said

"""The repository around a script says what is installed and what its own programs take."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.lint.judging import LintOptions
from parc.lint.run import lint_paths
from parc.reading.pins import pins_of
from tests.lint.test_beside import heard

TRAINER = """#!/bin/bash
{}torchrun --nproc-per-node 8 run_clm.py --model_name_or_path gpt2 --output_dir out --learning_rate 1e-4 \\
    --per_device_train_batch_size 4 --evaluation_strategy steps
"""
OLD = "transformers==4.37.2"
#: A file of the repository, and whether the option is said to be gone: 4.50 was the last release with it.
PINS = [
    ("requirements.txt", f"torch\n{OLD}\n", False),
    (
        "requirements-train.txt",
        "transformers[torch] >= 4.36, < 4.40  # later ones renamed it\n",
        False,
    ),
    ("requirements/train.txt", f"{OLD}\n", False),
    ("pyproject.toml", f'[project]\ndependencies = ["torch", "{OLD}"]\n', False),
    ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = "^4.37"\n', True),
    (
        "pyproject.toml",
        '[tool.poetry.dependencies]\ntransformers = {version = "~=4.37.1"}\n',
        False,
    ),
    ("setup.py", f"setup(name='x', install_requires=['{OLD}'])\n", False),
    ("uv.lock", 'version = 1\n[[package]]\nname = "transformers"\nversion = "4.37.2"\n', False),
    ("environment.yml", "dependencies:\n  - python=3.10\n  - transformers=4.37\n", False),
    ("Dockerfile", f"FROM pytorch\nRUN pip install {OLD}\n", False),
    ("docker/Dockerfile.train", f"FROM pytorch\nRUN pip install {OLD}\n", False),
    ("requirements.txt", "transformers>=4.31\n", True),
    ("requirements.txt", "transformers==4.57.1\n", True),
    ("requirements.txt", f"# {OLD}\ntransformers\n", True),
    (
        "requirements.txt",
        "sentence-transformers==2.2\ntransformers-stream-generator==0.0.4\n",
        True,
    ),
    ("requirements.txt", "transformers==3.5.1\n", False),
    ("notes.txt", f"{OLD}\n", True),
]


@pytest.mark.parametrize("name, text, said", PINS)
def test_a_release_that_the_repository_pins(name: str, text: str, said: bool) -> None:
    Path("scripts").mkdir()
    Path("scripts/job.sh").write_text(TRAINER.format(""))
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
    assert heard("PAR389", "scripts/job.sh") == said


@pytest.mark.parametrize(
    "line, said", [("module load cuda transformers/4.37.2\n", False), ("\n", True)]
)
def test_a_release_that_a_module_loads(line: str, said: bool) -> None:
    Path("job.sh").write_text(TRAINER.format(line))
    assert heard("PAR389", "job.sh") == said


def test_the_nearest_folder_that_pins_decides_and_nothing_above_what_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "repo" / "model"
    inner.mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text(f"{OLD}\n")
    (inner / "job.sh").write_text(TRAINER.format(""))
    monkeypatch.chdir(tmp_path / "repo")
    assert heard("PAR389", "model/job.sh")
    (tmp_path / "repo/requirements.txt").write_text("transformers==5.1.0\n")
    assert heard("PAR389", "model/job.sh")
    (inner / "requirements.txt").write_text(f"{OLD}\n")
    assert not heard("PAR389", "model/job.sh")


def test_a_pin_of_one_release_counts_as_known() -> None:
    Path("ds.json").write_text('{"zero_optimization": {"stage": 3, "overlap_com": true}}')
    Path("job.sh").write_text("deepspeed --num_gpus 8 train.py --deepspeed_config ds.json\n")

    def levels() -> set[str]:
        judged = lint_paths(["job.sh"], LintOptions(select=("PAR403",)), {})
        return {each.severity for job in judged for each in job.findings}

    assert levels() == {"warning"}
    Path("requirements.txt").write_text("deepspeed==0.14.5\n")
    assert levels() == {"error"}


def test_files_that_disagree_name_no_release_but_those_of_both() -> None:
    pins = pins_of("transformers", ["transformers==4.37.2", 'extra = ["transformers==4.55.0"]'])
    assert pins is not None and pins.exact is None
    assert [pins.allow(each) for each in ("4.37.2", "4.55.0", "4.45.0")] == [True, True, False]
    ranged = pins_of("transformers", ["transformers>=4.30,!=4.35.*\n", "transformers==4.37.2\n"])
    assert ranged is not None and ranged.exact == "4.37.2"
    assert pins_of("megatron-core", ["Megatron_Core == 0.8.0\n"]) is not None
    assert pins_of("transformers", ["transformers\ntorch==2.1\n"]) is None


FORK = """#!/bin/bash
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 32 --num-attention-heads 32 \\
    --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 8 {}
"""
DECLARES = """def add(parser):
    group = parser.add_argument_group("ours")
    group.add_argument(
        {}, type=str)
"""


@pytest.mark.parametrize(
    "code, option",
    [("PAR371", "--use-custom-fsdp"), ("PAR372", "--tensor-model-parallel-sise 8")],
)
@pytest.mark.parametrize(
    "file, name, said",
    [
        ("megatron/training/arguments.py", '"{}"', False),
        ("megatron/training/arguments.py", '"-x", "{}"', False),
        ("tools/other.py", "'{}'", False),
        ("megatron/training/arguments.py", '"{}-more"', True),
        ("node_modules/arguments.py", '"{}"', True),
    ],
)
def test_an_option_that_the_python_of_the_repository_declares(
    code: str, option: str, file: str, name: str, said: bool
) -> None:
    Path(file).parent.mkdir(parents=True)
    Path("examples").mkdir()
    Path("examples/job.sh").write_text(FORK.format(option))
    Path(file).write_text(DECLARES.format(name.format(option.split()[0])))
    assert heard(code, "examples/job.sh") == said


def test_a_package_within_a_repository_is_asked_alone() -> None:
    Path("vendored/examples").mkdir(parents=True)
    Path("vendored/setup.py").write_text("")
    Path("vendored/examples/job.sh").write_text(FORK.format("--use-custom-fsdp"))
    Path("arguments.py").write_text(DECLARES.format('"--use-custom-fsdp"'))
    assert heard("PAR371", "vendored/examples/job.sh")
    Path("vendored/arguments.py").write_text(DECLARES.format('"--use-custom-fsdp"'))
    assert not heard("PAR371", "vendored/examples/job.sh")


def test_links_of_a_repository_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(DECLARES.format('"--use-custom-fsdp"'))
    Path("repo").mkdir()
    Path("repo/setup.py").write_text("")
    Path("repo/arguments.py").symlink_to(outside)
    Path("repo/requirements.txt").symlink_to(outside)
    Path("repo/job.sh").write_text(FORK.format("--use-custom-fsdp"))
    assert heard("PAR371", "repo/job.sh")

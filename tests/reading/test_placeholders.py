"""Placeholders of templates: unknown words wherever a command has them, and nothing else is one."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.reading.facts import Setting, Unknown
from parc.reading.placeholders import IN_LINE, is_placeholder

SCRIPT = """#!/bin/bash
#SBATCH <SLURM OPTIONS> --nodes=4 --gpus-per-node=8
#SBATCH -J {{ job name }}
#SBATCH --account=<your account>
LOAD="PATH TO THE MODEL CHECKPOINT"
options=" --load $LOAD --save <PATH TO CHECKPOINTS> "
{command} $options --vocab-file <PATH TO vocab.json> \\
    --merge-file <merges> \\
    --num-layers <LAYERS> --hidden-size 1024 --bf16 --lr 1e-4
"""
DIRECT = "srun python pretrain_gpt.py"
PARSED_AGAIN = 'run() { eval "$@"; }\nrun srun python pretrain_gpt.py'


@pytest.mark.parametrize("command", [DIRECT, PARSED_AGAIN])
def test_a_placeholder_is_one_unknown_value(command: str) -> None:
    (config,) = read_jobs({"job.sh": SCRIPT.format(command=command)})
    for name in ("--load", "--save", "--vocab-file", "--merge-file", "--num-layers"):
        setting = config.option(name)
        assert setting is not None and _unfilled(setting), name
    assert config.number("hidden") == 1024 and isinstance(config.value("layers"), Unknown)
    assert config.given("--bf16") and config.number("slurm_nodes") == 4


def _unfilled(setting: Setting) -> bool:
    """Whether its one value is to be filled in."""
    values = setting.values
    return len(values) == 1 and isinstance(values[0], Unknown) and "filled in" in values[0].reason


def test_options_around_it_are_read() -> None:
    text = "#!/bin/bash\n#SBATCH -J { job name }\n#SBATCH -A <account> -N 2\nsrun hostname\n"
    (config,) = read_jobs({"job.sh": text})
    assert config.number("nodes") == 2
    job = config.setting("sbatch", "-J")
    assert job is not None and _unfilled(job)


@pytest.mark.parametrize(
    "text",
    [
        "<PATH>",
        "<path to x>",
        "TENSORBOARD DIRECTORY",
        "your save ckpt path",
        "{ partition }",
        "your_account",
        "path/to/x",
    ],
)
def test_what_is_one(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize(
    "text",
    ["PATH", "BF16 FP8", "GPT2BPETokenizer", "<|endoftext|>", "{1..4}", "yours", "data/path"],
)
def test_what_is_none(text: str) -> None:
    assert not is_placeholder(text)


@pytest.mark.parametrize(
    "line", ["sort <names >sorted", "cat <a>b", "wc <<EOF > out", "x <(ls) >y"]
)
def test_redirections_are_none(line: str) -> None:
    (config,) = read_jobs({"job.sh": f"torchrun train.py --a {line}\n"})
    assert not any(_unfilled(setting) for setting in config.all("argument"))


def test_redirection_in_a_line() -> None:
    assert IN_LINE.search("--load <PATH> --save x") and not IN_LINE.search("sort <names >sorted")

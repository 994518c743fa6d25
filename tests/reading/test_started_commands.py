"""Which commands of a script start a program, and through what."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs

MODEL = "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --bf16"


@pytest.mark.parametrize(
    "start",
    [
        "./bind.sh torchrun --nproc_per_node 4",
        "chronic -v python -u",
        "/opt/pin numactl -l python",
        "uv --directory x run python",
    ],
)
def test_a_wrapper_is_looked_through(start: str) -> None:
    (config,) = read_jobs({"job.sh": f"{start} pretrain_gpt.py {MODEL} > log\n"})
    assert config.framework == "megatron" and config.program == "pretrain_gpt.py"


@pytest.mark.parametrize(
    "text",
    [
        "which torchrun train.py",
        "pip install torchrun -m x",
        "cp a.py b",
        "uv pip uninstall --python .venv/bin/python torchrun",
        "conda install -n python torchrun",
    ],
)
def test_what_starts_nothing(text: str) -> None:
    assert all(not config.program for config in read_jobs({"job.sh": text + "\n"}))


def test_a_wrapper_that_is_there_is_read() -> None:
    files = {
        "job.sh": f"./bind.sh python pretrain_gpt.py {MODEL}\n",
        "bind.sh": 'exec "$@" --fp16\n',
    }
    (config,) = read_jobs(files)
    assert config.given("--fp16")

"""Variables that a script sets for its programs: which of them reach them, and name what the job has."""

from __future__ import annotations

import time

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n"
TRAINER = "torchrun --nproc_per_node 1 t.py --output_dir o --learning_rate 2e-4"

#: Code, a file that has it, and one that has not.
CASES = {
    "a value that a program has by itself": (
        "PAR810",
        f"WANDB_MODE=offline\n{TRAINER}\n",
        f'WANDB_MODE="online"  # or offline\n{TRAINER}\n',
    ),
    "GPUs that the job has": (
        "PAR666",
        HEADER + "#SBATCH --gres=gpu:4\nexport CUDA_VISIBLE_DEVICES=3,4\npython train.py\n",
        HEADER + "#SBATCH --gres=gpu:4\nCUDA_VISIBLE_DEVICES=2,3 python train.py\n",
    ),
    "all GPUs of the node": (
        "PAR666",
        HEADER + "#SBATCH --gres=gpu:1\nCUDA_VISIBLE_DEVICES=3 python train.py\n",
        HEADER
        + "#SBATCH --gres=gpu:1\n#SBATCH --exclusive\nCUDA_VISIBLE_DEVICES=3 python train.py\n",
    ),
    "a variable that is exported later": (
        "PAR810",
        f"NCCL_DEBUG=INFO\n{TRAINER}\n",
        f"NCCL_DEBUG=INFO\nexport NCCL_DEBUG\n{TRAINER}\n",
    ),
    "a variable that the script reads": (
        "PAR810",
        f"NCCL_DEBUG=INFO\n{TRAINER} --debug NCCL_DEBUG\n",
        f"NCCL_DEBUG=INFO\nenv NCCL_DEBUG=$NCCL_DEBUG {TRAINER}\n",
    ),
    "a variable before its command": (
        "PAR810",
        f"WANDB_MODE=offline\n{TRAINER}\n",
        f"WANDB_MODE=offline \\\n  {TRAINER}\nset -e\n",
    ),
    "variables that are all exported": (
        "PAR810",
        f"set -e\nWANDB_MODE=offline\n{TRAINER}\n",
        f"set -ea\nWANDB_MODE=offline\n{TRAINER}\n",
    ),
    "a variable that SLURM exports": (
        "PAR810",
        f"CUDA_VISIBLE_DEVICES=1\n{TRAINER}\n",
        f"{HEADER}CUDA_VISIBLE_DEVICES=1\n{TRAINER}\n",
    ),
}


def _codes(text: str, code: str) -> list[str]:
    jobs = judge(read_jobs({"job.sh": text}), LintOptions(select=(code,)))
    return [found.code for job in jobs for found in job.findings]


@pytest.mark.parametrize("code, bad, good", CASES.values(), ids=CASES.keys())
def test_a_variable_that_does_not_reach_its_program(code: str, bad: str, good: str) -> None:
    assert _codes(bad, code) == [code]
    assert _codes(good, code) == []


def test_blank_lines_without_end_are_read_in_seconds() -> None:
    text = "OMP_NUM_THREADS=1\n" + "\n" * 100_000 + "torchrun --nproc_per_node 8 t.py\n"
    started = time.monotonic()
    judge(read_jobs({"job.sh": text}), LintOptions())
    assert time.monotonic() - started < 20

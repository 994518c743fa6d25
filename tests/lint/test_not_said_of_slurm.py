"""What a rule must not say of a batch script, beside what it must: files that differ in one thing."""

import pytest

from tests.support.linted import codes_of

HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n"

#: Code, a file that has it, and one that has not.
CASES = {
    "GPUs of one task that are a whole node": (
        "PAR605",
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-task=4\n#SBATCH --mem=100G\n"
        "torchrun --nproc_per_node 4 --master_port 29500 train.py\n",
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-task=8\n"
        "torchrun --nproc_per_node 8 --master_port 29500 train.py\n",
    ),
    "steps that count their own tasks": (
        "PAR602",
        HEADER + "#SBATCH --gpus-per-node=4 --ntasks-per-node=2\nsrun --mem=0 python train.py\n",
        HEADER + "#SBATCH --gpus-per-node=4 --ntasks-per-node=2\nsrun -N 1 -n 1 python head.py &\n"
        "srun --ntasks=1 python train.py\n",
    ),
    "a template that a program fills in": (
        "PAR660",
        HEADER + "#SBATCH --ntasks=many --gpus=6000_ada:8 --gpus-per-node=2080ti:4\nsrun hostname\n",
        HEADER + "#SBATCH --ntasks={tasks} --gpus=6000_ada:8 --gpus-per-node=2080ti:4\nsrun hostname\n",
    ),
    "a time that a program fills in": (
        "PAR656",
        HEADER + "#SBATCH --time=soon\nsrun hostname\n",
        HEADER + "#SBATCH --time={minutes}\nsrun hostname\n",
    ),
    "as many processes as SLURM gives a task GPUs": (
        "PAR636",
        HEADER + "#SBATCH --gpus-per-task=1\nsrun torchrun --nproc_per_node 4 train.py\n",
        HEADER
        + "#SBATCH --gpus-per-task=1\nsrun torchrun --nproc_per_node ${SLURM_GPUS_PER_TASK} train.py\n",
    ),
    "four GPUs, and no part of the memory": (
        "PAR605",
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\n#SBATCH --mem=100G\n"
        "torchrun --nproc_per_node 4 --master_port 29500 train.py\n",
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\n"
        "torchrun --nproc_per_node 4 --master_port 29500 train.py\n",
    ),
    "a cluster without InfiniBand": (
        "PAR808",
        "export NCCL_IB_DISABLE=1\ntorchrun --nnodes 2 --nproc_per_node 8 train.py\n",
        "export NCCL_IB_DISABLE=1\ntorchrun --nnodes 1 --nproc_per_node 8 train.py\n",
    ),
    "a step in a container of the site's engine": (
        "PAR654",
        HEADER + "#SBATCH --export=NONE\nsrun bash run.sh\n",
        HEADER + "#SBATCH --export=NONE\nsrun --environment=ngc.toml bash run.sh\n",
    ),
    "a branch for one node": (
        "PAR601",
        HEADER + '[[ "$SLURM_NNODES" -eq 1 ]] || exit 1\nsrun hostname\n',
        HEADER + 'if [[ "$SLURM_NNODES" -eq 1 ]]; then\n  exit 1\nfi\nsrun hostname\n',
    ),
    "a GPU that is left for vLLM": (
        "PAR601",
        "#!/bin/bash\n#SBATCH --gres=gpu:8\ntorchrun --nproc_per_node 7 grpo.py --use_vllm false\n",
        "#!/bin/bash\n#SBATCH --gres=gpu:8\ntorchrun --nproc_per_node 7 grpo.py --use_vllm true\n",
    ),
    "a step whose image has a PATH": (
        "PAR654",
        HEADER + "srun --export=A=1,B=2 bash run.sh\n",
        HEADER + "srun --container-image i.sqsh --export=A=1,B=2 bash run.sh\n",
    ),
    "tasks that the step counts itself": (
        "PAR602",
        HEADER + "#SBATCH --ntasks-per-node=4\nsrun --ntasks=$SLURM_NTASKS torchrun train.py\n",
        HEADER + "#SBATCH --ntasks-per-node=4\nsrun --ntasks=$MACHINES torchrun train.py\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("code, bad, good", CASES.values(), ids=CASES)
def test_only_what_is_wrong_is_said(code: str, bad: str, good: str) -> None:
    assert code in codes_of(bad)
    assert code not in codes_of(good)

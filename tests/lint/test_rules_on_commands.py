"""Rules on batch scripts judge the commands of a run, wherever they are written, and no other text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, codes

TWO_NODES = (
    "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node={}\n#SBATCH --gpus-per-node=8\n"
)
ONE_TASK, EIGHT_TASKS = TWO_NODES.format(1), TWO_NODES.format(8)
TORCHRUN = "torchrun --nnodes 2 --nproc-per-node 8 train.py"
CPUS = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --cpus-per-task=16\n"
SIGNAL = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --signal=B:USR1@300\n"


@pytest.mark.parametrize(
    "code, script",
    {
        "a launcher in a variable": ("PAR602", f'{EIGHT_TASKS}CMD="{TORCHRUN}"\nsrun $CMD\n'),
        "a launcher in an array": ("PAR602", f"{EIGHT_TASKS}CMD=({TORCHRUN})\nsrun \"${{CMD[@]}}\"\n"),
        "srun in a variable": ("PAR602", f"{EIGHT_TASKS}RUN='srun -l'\n$RUN {TORCHRUN}\n"),
        "tasks that srun counts too high": ("PAR602", f"{EIGHT_TASKS}srun -n $((2 * 8)) {TORCHRUN}\n"),
        "a launcher in a written script": (
            "PAR602", f"{EIGHT_TASKS}cat > run.sh <<EOF\n{TORCHRUN}\nEOF\nsrun bash run.sh\n",
        ),
        "a launcher without srun in a function": (
            "PAR635", f"{ONE_TASK}run() {{\n  {TORCHRUN}\n}}\nrun\n",
        ),
        "nodes of a step in a variable": ("PAR639", f"{ONE_TASK}N=4\nsrun --nodes=$N hostname\n"),
        "a step behind another command": ("PAR655", f"{CPUS}clear; srun python train.py\n"),
        "a step whose output goes on": ("PAR655", f"{CPUS}time srun python train.py | tee log\n"),
        "a folder in a variable": (
            "PAR647", "#!/bin/bash\n#SBATCH --output=logs/%j.out\nLOGS=logs\nmkdir -p $LOGS\nsrun hostname\n",
        ),
        "a trap that is printed": ("PAR650", f"{SIGNAL}echo \"trap 'x' USR1\"\nsrun python train.py\n"),
    }.values(),
)  # fmt: skip
def test_found_wherever_it_is_written(code: str, script: str, capsys: Captured) -> None:
    Path("job.sbatch").write_text(script)
    assert code in codes(capsys, "job.sbatch", "--own-levels")


@pytest.mark.parametrize(
    "code, script",
    {
        "one task by a computed number": ("PAR602", f"{EIGHT_TASKS}srun -n $SLURM_NNODES {TORCHRUN}\n"),
        "a launcher that is printed": ("PAR635", f'{ONE_TASK}echo "{TORCHRUN}"\nsrun hostname\n'),
        "a function that nothing calls": ("PAR635", f"{ONE_TASK}run() {{ {TORCHRUN}; }}\nsrun hostname\n"),
        "ssh to each node": (
            "PAR635", f'{ONE_TASK}for node in a b; do ssh $node "{TORCHRUN}" & done\nwait\n',
        ),
        "the number of a program's own": ("PAR639", f"{ONE_TASK}srun python train.py -N 4\n"),
        "a question to the nodes": ("PAR655", f"{CPUS}HOST=$(srun hostname)\npython train.py\n"),
        "the list of another program": ("PAR654", f"{ONE_TASK}srun python train.py --export=A\n"),
        "a trap for one of several": ("PAR650", f"{SIGNAL}trap 'x' TERM sigusr1\nsrun python train.py\n"),
    }.values(),
)  # fmt: skip
def test_not_found_in_what_is_not_run(code: str, script: str, capsys: Captured) -> None:
    Path("job.sbatch").write_text(script)
    assert code not in codes(capsys, "job.sbatch", "--own-levels")

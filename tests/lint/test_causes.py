"""Files that differ in a finding's cause: it is said of the first, and not, or as a hint, of the second."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n"
ONE_NODE = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH {}\n{}\ntorchrun {} train.py\n"
TWO_TASKS = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"
RANKED = 'srun bash -c "$LAUNCHER --node_rank $SLURM_PROCID train.py"\n'
LAUNCHER = 'LAUNCHER="torchrun --nnodes 2 --nproc_per_node 4 {}"\n'
STATIC = "torchrun --nnodes 2 --nproc_per_node 4 --master_addr node1 {} train.py\n"
ACCELERATED = HEADER + (
    "srun accelerate launch --config_file a.yaml train.py --per_device_train_batch_size 4 --output_dir o\n"
)
MACHINES = (
    "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_multinode_launcher: {}\n"
    "  zero_stage: 2\nmachine_rank: 0\nnum_machines: 2\nnum_processes: 8\n"
)
TASKS = HEADER + "#SBATCH --ntasks-per-node=4\n"
MODEL = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 2 "
    "--use-distributed-optimizer --optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d "
)
EXPERTS = "--expert-model-parallel-size 8 "

#: Code, files of which it is said aloud, and files of which it is not.
CASES = {
    "days written as hours, and the minutes of a test": (
        "PAR656", {"a.sh": HEADER + "#SBATCH --time=48:00\nsrun python train.py\n"},
        {"a.sh": HEADER + "#SBATCH --time=10:00\nsrun python train.py\n"},
    ),
    "hours that a comment names": (
        "PAR656", {"a.sh": HEADER + "#SBATCH --time=10:00  # 10 hours\nsrun python train.py\n"},
        {"a.sh": HEADER + "#SBATCH --time=10:00  # a test\nsrun python train.py\n"},
    ),
    "a rendezvous by static ranks, and another one, in a variable": (
        "PAR607", {"a.sh": HEADER + LAUNCHER.format("--master_addr node1") + RANKED},
        {"a.sh": HEADER + LAUNCHER.format("--rdzv-backend etcd-v2 --rdzv-endpoint e:2379") + RANKED},
    ),
    "a launcher that starts, and one that is printed": (
        "PAR635", {"a.sh": HEADER + "torchrun --nnodes 2 --nproc_per_node 4 train.py\n"},
        {"a.sh": HEADER + 'echo "by torchrun, 2 nodes"\npython -m runner --nodes 2\n'},
    ),
    "a script that reaches the nodes itself": (
        "PAR635",
        {"a.sbatch": HEADER + "bash run.sh\n", "run.sh": "torchrun --nproc_per_node 4 train.py\n"},
        {
            "a.sbatch": HEADER + "bash run.sh\n",
            "run.sh": "if [ $N -gt 1 ]; then srun torchrun --nproc_per_node 4 train.py\n"
            "else torchrun --nproc_per_node 4 train.py; fi\n",
        },
    ),
    "one number for all nodes, and the number of each": (
        "PAR667", {"a.sh": HEADER + "srun " + STATIC.format("--node_rank 0")},
        {"a.sh": HEADER + "srun bash -c '" + STATIC.format("--node_rank $SLURM_NODEID").strip() + "'\n"},
    ),
    "no number of the node, and one that is not asked for": (
        "PAR667", {"a.sh": HEADER + "srun " + STATIC.format("")},
        {"a.sh": HEADER + "srun " + STATIC.format("--rdzv_backend c10d --rdzv_endpoint node1:29500")},
    ),
    "the first node's step of two": (
        "PAR667", {"a.sh": HEADER + "srun -l " + STATIC.format("--node_rank 0")},
        {"a.sh": HEADER + "srun -N 1 -w node1 " + STATIC.format("--node_rank 0")},
    ),
    "the config of accelerate on each node, and on the one that starts the others": (
        "PAR667", {"a.sh": ACCELERATED, "a.yaml": MACHINES.format("standard")},
        {"a.sh": ACCELERATED, "a.yaml": MACHINES.format("pdsh")},
    ),
    "the config of accelerate for a program of one's own": (
        "PAR667",
        {
            "a.sh": HEADER + "srun accelerate launch --config_file a.yaml mine.py\n",
            "a.yaml": "distributed_type: MULTI_GPU\nmachine_rank: 1\nnum_machines: 2\nnum_processes: 8\n",
        },
        {
            "a.sh": HEADER + "srun accelerate launch --config_file a.yaml mine.py\n",
            "a.yaml": "distributed_type: MULTI_GPU\nrdzv_backend: c10d\nmachine_rank: 1\nnum_machines: 2\n"
            "num_processes: 8\n",
        },
    ),
    "the recipe of an image": (
        "PAR805", {"run": "#!/bin/bash\r\ntorchrun --nproc_per_node 4 train.py\r\n"},
        {"Dockerfile": "# image\r\nFROM nvcr.io/pytorch\r\nCMD torchrun --nproc_per_node 4 train.py\r\n"},
    ),
    "a program of one's own under mpirun": (
        "PAR609", {"a.sh": "mpirun -np 4 python train.py --deepspeed --deepspeed_config ds.json\n"},
        {"a.sh": "mpirun -np 4 python train.py --data d\n"},
    ),
    "the launcher deepspeed, and an option of its name": (
        "PAR602", {"a.sh": TASKS + "srun deepspeed --num_gpus 4 train.py\n"},
        {"a.sh": TASKS + "srun python train.py --deepspeed --deepspeed_config ds.json\n"},
    ),
    "an option of a plugin": (
        "PAR660", {"a.sh": HEADER + "#SBATCH --imag-e=x\n#SBATCH --jobname=x\nsrun python train.py\n"},
        {"a.sh": HEADER + "#SBATCH --image=docker:x\nsrun python train.py\n"},
    ),
    "a mark that JUBE fills in": (
        "PAR660", {"a.sh": "#!/bin/bash\n#SBATCH --nodes=\nsrun python train.py\n"},
        {"a.sh": "#!/bin/bash\n#SBATCH --nodes=#NODES#\nsrun python train.py\n"},
    ),
    "a dollar that begins no name": (
        "PAR373", {"a.sh": MODEL + "--tensorboard-dir logs more\n"},
        {"a.sh": MODEL + "--tensorboard-dir $/logs\n"},
    ),
    "an array that an unread file may fill": (
        "PAR303", {"a.sh": "MORE=()\n" + MODEL + EXPERTS + '"${MORE[@]}"\n'},
        {"a.sh": "source /models/8x7b.sh\n" + MODEL + EXPERTS + '"${MORE[@]}"\n'},
    ),
    "an array that is read from a program": (
        "PAR303",
        {"a.sh": "read -ra MORE <<< '--bf16'\n" + MODEL + EXPERTS + '"${MORE[@]}"\n'},
        {"a.sh": 'read -ra MORE <<< "$(python args.py)"\n' + MODEL + EXPERTS + "${MORE[@]}\n"},
    ),
    "what two directives list": (
        "PAR665", {"a.sh": HEADER + "#SBATCH --export=ALL,A=1\n#SBATCH --export=ALL,B=2\nsrun python t.py\n"},
        {"a.sh": HEADER + "#SBATCH --export=ALL,A=1,B=2\n#SBATCH --time=1:00:00\n#SBATCH --time=2:00:00\n"
         "srun python t.py\n"},
    ),
    "variables of a step without ALL": (
        "PAR654", {"a.sh": HEADER + "srun --export=A=1 python t.py\n"},
        {"a.sh": HEADER + "srun --export=ALL,A=1 python t.py\nsrun --export=PATH,A=1 python t.py\n"},
    ),
    "GPUs that accelerate is named": (
        "PAR603",
        {"a.yaml": "distributed_type: MULTI_GPU\ngpu_ids: 0,1\nnum_machines: 2\nnum_processes: 10\n"},
        {"a.yaml": "distributed_type: MULTI_GPU\ngpu_ids: all\nnum_machines: 2\nnum_processes: 10\n"},
    ),
    "completions of a group": (
        "PAR209",
        {"a.sh": "accelerate launch --num_processes 4 --num_machines 1 -m trl.scripts.grpo --output_dir o "
         "--per_device_train_batch_size 1 --num_generations 8\n"},
        {"a.sh": "accelerate launch --num_processes 4 --num_machines 1 -m trl.scripts.grpo --output_dir o "
         "--per_device_train_batch_size 1 --num_generations 8 --gradient_accumulation_steps 2\n"},
    ),
    "words of prose that stand for a path": (
        "PAR373",
        {"a.sh": "V='vocab.json of gpt'\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 "
         "--hidden-size 1024 --num-attention-heads 16 --lr 1e-4 --train-iters 10 --vocab-file $V\n"},
        {"a.sh": "V='vocab file for gpt'\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 "
         "--hidden-size 1024 --num-attention-heads 16 --lr 1e-4 --train-iters 10 --vocab-file $V\n"},
    ),
    "one completion beside a teacher": (
        "PAR209",
        {"a.sh": "swift rlhf --rlhf_type grpo --model m --output_dir o --per_device_train_batch_size 2 "
         "--num_generations 1\n"},
        {"a.sh": "swift rlhf --rlhf_type grpo --model m --output_dir o --per_device_train_batch_size 2 "
         "--num_generations 1 --teacher_model t\n"},
    ),
    "completions of a trainer of one's own": (
        "PAR209",
        {"a.sh": "pip install trl==0.15.2\naccelerate launch --num_processes 4 --num_machines 1 src/grpo.py "
         "--output_dir o --per_device_train_batch_size 1 --num_generations 8\n"},
        {"a.sh": "accelerate launch --num_processes 4 --num_machines 1 src/grpo.py "
         "--output_dir o --per_device_train_batch_size 1 --num_generations 8\n"},
    ),
    "arguments of the Trainer in one process": (
        "PAR331",
        {"a.sh": "python t.py --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 4 "
         "--load_best_model_at_end\n"},
        {"a.sh": "python t.py --output_dir o --load_best_model_at_end\n"},
    ),
    "processes that are counted by what SLURM sets": (
        "PAR601",
        {"a.sh": ONE_NODE.format(
            "--gres=gpu:6", "N=$(echo $OTHER | tr ',' '\\n' | wc -l)", "--nproc_per_node=$N")},
        {"a.sh": ONE_NODE.format(
            "--gres=gpu:6", "N=$(echo $CUDA_VISIBLE_DEVICES | tr ',' '\\n' | wc -l)", "--nproc_per_node=$N")},
    ),
    "the port of nodes that a site gives as a whole": (
        "PAR605",
        {"a.sh": ONE_NODE.format("--gres=gpu:1", "", "--nproc_per_node=gpu --master_port 29500")},
        {"a.sh": ONE_NODE.format("-p gh", "", "--nproc_per_node=gpu --master_port 29500")},
    ),
    "two GPUs behind an equal sign": (
        "PAR602",
        {"a.sh": TWO_TASKS + "#SBATCH --gres=gpu=1\nsrun python train.py\n"},
        {"a.sh": TWO_TASKS + "#SBATCH --gres=gpu=2\nsrun python train.py\n"},
    ),
    "visible GPUs that DeepSpeed ignores beside --num_gpus": (
        "PAR603",
        {"a.sh": "export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --nproc_per_node=3 train.py\n"},
        {"a.sh": "export CUDA_VISIBLE_DEVICES=0,1\ndeepspeed --num_gpus=3 train.py\n"},
    ),
}  # fmt: skip


def _loud(files: dict[str, str], code: str) -> list[str]:
    judged = judge(read_jobs(files), LintOptions(own_levels=True, select=(code,)))
    return [found.code for job in judged for found in job.findings if found.severity != "info"]


@pytest.mark.parametrize("code, said, spared", CASES.values(), ids=CASES)
def test_a_rule_speaks_for_its_cause(
    code: str, said: dict[str, str], spared: dict[str, str]
) -> None:
    assert _loud(said, code)
    assert not _loud(spared, code)

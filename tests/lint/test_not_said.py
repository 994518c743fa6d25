"""What a rule must not say, beside what it must: files that differ in one thing."""

from __future__ import annotations

import json

import pytest

from parc.backends.launch_files import read_jobs
from tests.support.linted import codes_of

EMPTY = (
    "if [[ $data == x* || $data == '' ]]; then exit 1; fi\n"
    "torchrun --nproc_per_node 8 train.py\n"
)
HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n"
STEP = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:h100:4\n#SBATCH --ntasks-per-node=1\n"
MODEL = (
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --lr 1e-4 "
    "--max-position-embeddings 1024 --micro-batch-size 4 --train-iters 10 --bf16"
)
ZERO = "--deepspeed --zero-stage 2 --no-such-option"
PAIR = "torchrun --nnodes 2 --nproc_per_node 4 --node_rank {} --master_addr 127.0.0.1 train.py\n"
TRAINER = (
    "torchrun --nproc_per_node 1 t.py --per_device_train_batch_size 4 --output_dir o "
    "--learning_rate 2e-4 --num_train_epochs 1"
)


def _with_lr(command: str) -> str:
    """A script that writes a DeepSpeed config with a learning rate, and starts a command."""
    config = '{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 2e-4}}}'
    return f"cat > ds.json <<EOF\n{config}\nEOF\n{command}\n"


def _with_auto(command: str) -> str:
    """A script that writes a DeepSpeed config for a Trainer to fill in, and starts a command."""
    return f'cat > ds.json <<EOF\n{{"train_batch_size": "auto"}}\nEOF\n{command}\n'


def _with_fp16(options: str) -> str:
    """A script that writes a DeepSpeed config with fp16 and ZeRO 3, and starts Megatron-DeepSpeed."""
    config = '{"train_batch_size": 8, "fp16": {"enabled": true}, "zero_optimization": {"stage": 3}}'
    model = "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --no-pipeline-parallel"
    command = f"deepspeed pretrain_gpt.py --deepspeed --deepspeed_config ds.json {model} {options}"
    return f"cat > ds.json <<EOF\n{config}\nEOF\n{command}\n"


DEGREES = "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 8"

WHOLE = "torchrun --master-port 6000 --nproc-per-node {} train.py --num-layers 32\n"

UNEQUAL = (
    "torchrun --nproc_per_node 2 --nnodes 2 --node_rank 0 --master_addr a pretrain_gpt.py "
    f"{MODEL} --tensor-model-parallel-size 4\n"
)

SIX = f"torchrun --nnodes {{}} --nproc_per_node 6 pretrain_gpt.py {MODEL} {{}}\n"
TP, CP, EP = (f"--{name}-parallel-size" for name in ("tensor-model", "context", "expert-model"))

#: Code, a file that has it, and one that has not.
CASES = {
    "what two hyphens hand on to another parser": (
        "PAR373",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --save-interval many --\n",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --save-interval 10 -- --seed 1\n",
    ),
    "tp of nodes whose sizes differ": (
        "PAR104",
        f"WORLD_SIZE=4\n{UNEQUAL}",
        f"WORLD_SIZE=5\n{UNEQUAL}",
    ),
    "types of mail add up": (
        "PAR665",
        HEADER + "#SBATCH --gres=gpu:1\n#SBATCH --gres=nvme:1\nsrun hostname\n",
        HEADER + "#SBATCH --mail-type=begin\n#SBATCH --mail-type=end\nsrun hostname\n",
    ),
    "options of a plugin for containers": (
        "PAR660",
        HEADER + "#SBATCH --mail-typ=end\n#SBATCH --gpus-per-nod=4\n#SBATCH --cpus-per-tas=1\n"
        "#SBATCH --ntask-per-node=1\nsrun hostname\n",
        HEADER + "#SBATCH --container-env=HOME\n#SBATCH --no-container-mount-home\nsrun hostname\n",
    ),
    "a directive that a template fills in": (
        "PAR660",
        HEADER + "#SBATCH --signal=B:USR1@\n",
        HEADER + "#SBATCH --signal=B:USR1@[[TIME]] --ntasks={{ tasks }}\n#SBATCH --mem=[[MEM]]G\n",
    ),
    "a time that a template fills in": (
        "PAR656", HEADER + "#SBATCH --time=[DAY]\n", HEADER + "#SBATCH --time=[[DAY]]\n",
    ),
    "a port of a job that starts eight processes on its node": (
        "PAR605",
        "#!/bin/bash\n#SBATCH --nodes=1\n" + WHOLE.format(2),
        "#!/bin/bash\n#SBATCH --nodes=1\n" + WHOLE.format(8),
    ),
    "a start of a name that is one option's": (
        "PAR660", HEADER + "#SBATCH --nod=2\n", HEADER + "#SBATCH --err=x.err\n",
    ),
    "usage of sbatch in a comment": (
        "PAR632",
        HEADER + "# SBATCH --time=1:00:00\n",
        HEADER + "#   sbatch --nodes=4 run.sh\n# sbatch -N 2 $0\n# sbatch --nodes=N <script>\n"
        "# sbatch -N 2 ...\n#   sbatch --export=A=1 \\\n#     run.sh\n",
    ),
    "a time to be filled in": (
        "PAR656",
        HEADER + "#SBATCH -t soon\nsrun hostname\n",
        HEADER + "#SBATCH -t {LIMIT_TIME}\nsrun hostname\n",
    ),
    "lengths of a Trainer's own program": (
        "PAR408",
        _with_auto("deepspeed finetune.py --max_length 8 --batch_size 2 --deepspeed ds.json"),
        _with_auto(
            "deepspeed finetune.py --max_length 8 --batch_size 2 --deepspeed ds.json "
            "--per_device_train_batch_size 1"
        ),
    ),
    "accumulation that DeepSpeed derives": (
        "PAR207",
        _with_lr(f"{TRAINER} --deepspeed ds.json"),
        _with_lr(f"{TRAINER} --deepspeed_config ds.json"),
    ),
    "a script that submits itself": (
        "PAR647",
        HEADER + "#SBATCH --output=logs/%j\nmkdir -p logs\nsrun hostname\n",
        HEADER + '#SBATCH --output=logs/%j\nif [ -z "$SLURM_JOB_ID" ]; then\n'
        '  mkdir -p logs; sbatch "$0"; exit\nfi\nsrun hostname\n',
    ),
    "a step whose GPUs SLURM names": (
        "PAR603",
        STEP + "srun bash -c 'export CUDA_VISIBLE_DEVICES=0; torchrun --nproc_per_node 4 train.py'\n",
        STEP + "export CUDA_VISIBLE_DEVICES=0\nsrun bash -c 'torchrun --nproc_per_node 4 train.py'\n",
    ),
    "an option of the command that a container of a step runs": (
        "PAR639",
        HEADER + "srun -N 100000 singularity exec --nv image.sif python train.py\n",
        HEADER + "srun singularity exec --nv image.sif bash -c 'python train.py -N 100000'\n",
    ),
    "launches in the background, each on a GPU of its own": (
        "PAR601",
        STEP + "for g in 0 1 2 3; do\n"
        "  CUDA_VISIBLE_DEVICES=$g torchrun --nproc_per_node 1 train.py\ndone\n",
        STEP + "for g in 0 1 2 3; do\n"
        "  CUDA_VISIBLE_DEVICES=$g torchrun --nproc_per_node 1 train.py &\ndone\nwait\n",
    ),
    "devices that no step gets anew": (
        "PAR603",
        STEP + "export CUDA_VISIBLE_DEVICES=0\ntorchrun --nproc_per_node 4 train.py\n",
        STEP + "export CUDA_VISIBLE_DEVICES=0\nsrun torchrun --nproc_per_node 4 train.py\n",
    ),
    "no interval, and nothing to save": (
        "PAR373",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --eval-iters 1 --save-interval -5\n",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --eval-iters 1 --save-interval 0\n",
    ),
    "a degree that the number of processes bounds": (
        "PAR111",
        f"python tools/generate.py --tensor-model-parallel-size 3 {MODEL}\n",
        f"python tools/generate.py --model-parallel-size 3 {MODEL}\n",
    ),
    "the same degree with as many processes": (
        "PAR111",
        f"torchrun --nproc_per_node 3 t.py --model-parallel-size 3 {MODEL}\n",
        f"torchrun --nproc_per_node 2 t.py --model-parallel-size 3 {MODEL}\n",
    ),
    "a switch of a program with a parser of its own": (
        "PAR373",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --eval-iters 1 --bf16 true\n",
        f"torchrun --nproc_per_node 8 my_training.py {MODEL} --eval-iters 1 --bf16 true\n",
    ),
    "a default is no substring": (
        "PAR643",
        HEADER + "PORT=$((10000 + ${SLURM_JOB_ID: -4}))\n",
        HEADER + "PORT=$((10000 + ${SLURM_JOB_ID:-0}))\n",
    ),
    "the node of rank 0 meets itself": ("PAR604", PAIR.format("$RANK"), PAIR.format(0)),
    "the other half of the pair, on one machine": (
        "PAR604", PAIR.format("$RANK"), PAIR.format(1),
    ),
    "a test of the data builds no engine": (
        "PAR401",
        f"deepspeed pretrain_gpt.py {MODEL} {ZERO}\n",
        f"python test_blendable_dataset.py {MODEL} {ZERO}\n",
    ),
    "an older fork has no pipeline": (
        "PAR401",
        f"deepspeed pretrain_gpt.py {MODEL} {ZERO}\n",
        f"deepspeed pretrain_gpt2.py {MODEL} {ZERO}\n",
    ),
    "sizes that the checkpoint has": (
        "PAR373",
        "torchrun pretrain_gpt.py --num-layers -1 --hidden-size -1 --num-attention-heads 8\n",
        "torchrun evaluate.py --num-layers -1 --hidden-size -1 --num-attention-heads 8\n",
    ),
    "the batch of an evaluation": (
        "PAR201",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --global-batch-size 8\n",
        f"torchrun --nproc_per_node 8 tasks/evaluate.py {MODEL} --global-batch-size 8\n",
    ),
    "the tokenizer that pretrain_gpt.py names itself": (
        "PAR374",
        f"torchrun pretrain_gpt.py {MODEL.replace('--micro-batch-size 4', '')}\n",
        f"torchrun pretrain_gpt.py {MODEL}\n",
    ),
    "a guard against what nobody has given": (
        "PAR809",
        f"TP=3\nif [ $TP -gt 2 ]; then exit 2; fi\ntorchrun pretrain_gpt.py {MODEL}\n",
        f"if [ $# -lt 1 ]; then exit 2; fi\nif [ $TP -gt 2 ]; then exit 2; fi\ntorchrun a.py {MODEL}\n",
    ),
    "a guard of what a loop over the arguments sets": (
        "PAR809",
        f"data=\nfor each in a b; do data=; done\n{EMPTY}",
        f'data=\nfor each in $*; do [[ $each == --data* ]] && data=${{each#*=}}; done\n{EMPTY}',
    ),
    "a guard of what options set": (
        "PAR809",
        'M=0\nif [ "$M" -ne 1 ]; then exit 1; fi\n'
        f"torchrun pretrain_gpt.py {MODEL}\n",
        "M=0\ncheck() { if [ $M -ne 1 ]; then exit 1; fi; }\n"
        "while getopts m o; do case $o in m) M=1 ;; esac; done\ncheck\n"
        f"torchrun pretrain_gpt.py {MODEL}\n",
    ),
    "a guard against a file that the machine has": (
        "PAR809",
        f"TP=3\nif [ $TP -gt 2 ]; then exit 2; fi\ntorchrun pretrain_gpt.py {MODEL}\n",
        f"F=a.json\nif [ ! -f $F ]; then exit 2; fi\ntorchrun pretrain_gpt.py {MODEL}\n",
    ),
    "a fork that lists the layers of each stage": (
        "PAR121",
        f"torchrun --nproc_per_node 5 pretrain_gpt.py {MODEL} --pipeline-model-parallel-size 5\n",
        f"torchrun --nproc_per_node 5 pretrain_gpt.py {MODEL} --pipeline-model-parallel-size 5"
        " --num-layer-list 5,5,5,5,4\n",
    ),
    "a fork with its own spelling": (
        "PAR304",
        f"torchrun --nproc_per_node 2 pretrain_gpt.py {MODEL} --tensor-model-parallel-size 2\n",
        f"torchrun --nproc_per_node 2 pretrain_gpt.py {MODEL} --tensor_model_parallel_size 2\n",
    ),
    "experts that the checkpoint has": (
        "PAR303",
        f"torchrun pretrain_gpt.py {MODEL} --expert-model-parallel-size 2\n",
        f"torchrun -m examples.inference.server {MODEL} --expert-model-parallel-size 2\n",
    ),
    "a variable that the script sets": (
        "PAR644",
        HEADER + "srun torchrun --nproc_per_node $SLURM_GPUS_PER_NODE train.py\n",
        HEADER + "SLURM_GPUS_PER_NODE=8\nsrun torchrun --nproc_per_node $SLURM_GPUS_PER_NODE train.py\n",
    ),
    "a learning rate of an optimizer that is not used": (
        "PAR207",
        _with_lr("deepspeed train.py --lr 1e-4 --deepspeed_config ds.json"),
        _with_lr(f"deepspeed pretrain_gpt.py --deepspeed {MODEL} --deepspeed_config ds.json"),
    ),
    "one replica on one node, whichever it is": (
        "PAR106",
        f"torchrun --standalone --nproc_per_node $GPUS pretrain_gpt.py {MODEL} {DEGREES}\n",
        f"torchrun --nnodes $N --nproc_per_node $GPUS pretrain_gpt.py {MODEL} {DEGREES}\n",
    ),
    "a rack that is one node": (
        "PAR106",
        f"torchrun --nproc_per_node 72 pretrain_gpt.py {MODEL}\n",
        f"# GB200 NVL72\ntorchrun --nproc_per_node 72 pretrain_gpt.py {MODEL}\n",
    ),
    "cores of Trainium are more": (
        "PAR106",
        f"torchrun --nproc_per_node 32 pretrain_gpt.py {MODEL}\n",
        f"export NEURON_CC_FLAGS=-O1\ntorchrun --nproc_per_node 32 pretrain_gpt.py {MODEL}\n",
    ),
    "a tp that no node holds": (
        "PAR104",
        f"torchrun --nproc_per_node $GPUS pretrain_gpt.py {MODEL} --tensor-model-parallel-size 32\n",
        f"torchrun --nproc_per_node $GPUS pretrain_gpt.py {MODEL} --tensor-model-parallel-size 16\n",
    ),
    "tp that divides a node of six": (
        "PAR104", SIX.format(2, f"{TP} 4"), SIX.format(2, f"{TP} 3"),
    ),
    "tp 4 in one node of six has no second": (
        "PAR104", SIX.format(2, f"{TP} 4"), SIX.format(1, f"{TP} 4"),
    ),
    "cp beside a tp that divides a node with it": (
        "PAR104", SIX.format(2, f"{TP} 2 {CP} 2"), SIX.format(2, f"{TP} 3 {CP} 2"),
    ),
    "ep that divides a node": (
        "PAR104",
        SIX.format(2, f"{TP} 1 {EP} 4 --num-experts 12"),
        SIX.format(2, f"{TP} 1 {EP} 3 --num-experts 12"),
    ),
    "ep over several nodes": (
        "PAR104",
        SIX.format(2, f"{TP} 1 {EP} 4 --num-experts 12"),
        SIX.format(2, f"{TP} 1 {EP} 12 --num-experts 12"),
    ),
    "nodes of a rack that NVLink joins": (
        "PAR104", SIX.format(2, f"{TP} 4"), "# GB200 NVL72\n" + SIX.format(2, f"{TP} 4"),
    ),
    "a precision that only the config has": (
        "PAR502", _with_fp16(MODEL.replace("--bf16", "")), _with_fp16(MODEL.replace("--bf16", "--fp16")),
    ),
    "a stage that only the config has": (
        "PAR207", _with_fp16("--fp16 --lr 1e-4"), _with_fp16("--fp16 --lr 1e-4 --zero-stage 3"),
    ),
    "a value of an option that is no layout's": (
        "PAR801",
        f"torchrun pretrain_gpt.py {MODEL} --data-path $DATA --fp16\n",
        f"DATA=a\ntorchrun pretrain_gpt.py {MODEL} --data-path $DATA --fp16\n",
    ),
    "a file of the machine is not looked for": (
        "PAR806", "source env.sh\ntorchrun a.py\n", "source ~/.bashrc\nsource /opt/env.sh\ntorchrun a.py\n",
    ),
    "a second name of an option": (
        "PAR660",
        HEADER + "#SBATCH --task-per-node=4\nsrun hostname\n",
        HEADER + "#SBATCH --tasks-per-node=4\nsrun hostname\n",
    ),
    "words of a placeholder behind an option": (
        "PAR634",
        HEADER + "#SBATCH --partition=gpu HERE\nsrun hostname\n",
        HEADER + "#SBATCH --partition=<YOUR PARTITION HERE>\n#SBATCH --qos {your qos}\nsrun hostname\n",
    ),
    "a count to be filled in": (
        "PAR610",
        "torchrun --nnodes two --nproc_per_node 8 train.py\n",
        "N=YOUR_NUM_NODES\ntorchrun --nnodes $N --nproc_per_node 8 train.py\n",
    ),
    "an option of the Trainer that a variable gives again": (
        "PAR397",
        f"{TRAINER} --seed 1 --seed 2\n",
        f'MORE="--seed 2"\n{TRAINER} --seed 1 $MORE\n',
    ),
    "an option of Megatron-LM that stands twice with one value": (
        "PAR397",
        f"torchrun pretrain_gpt.py {MODEL} --seed 1 \\\n    --eval-iters 5 --seed 2\n",
        f"torchrun pretrain_gpt.py {MODEL} --seed 1 \\\n    --eval-iters 5 --seed 1\n",
    ),
    "what the first node alone has more of": (
        "PAR101",
        f"N=3\ntorchrun --nnodes 2 --nproc_per_node $N pretrain_gpt.py {MODEL} {DEGREES}\n",
        f'N=3\nif [ "$1" -eq 0 ]; then\n  ((N++))\nfi\n'
        f"torchrun --nnodes 2 --nproc_per_node $N --node_rank $1 pretrain_gpt.py {MODEL} {DEGREES}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("code, bad, good", CASES.values(), ids=CASES)
def test_only_what_is_wrong_is_said(code: str, bad: str, good: str) -> None:
    assert code in codes_of(bad)
    assert code not in codes_of(good)


def test_a_script_that_is_not_there_is_looked_through() -> None:
    (config,) = read_jobs({"job.sh": f"srun --label launch.sh tasks/evaluate.py {MODEL}\n"})
    assert config.program == "evaluate.py" and config.given("--bf16")


SAVED = {
    **{f"argument_{number}": number for number in range(30)},
    "gradient_accumulation_steps": 4,
    "deepspeed": {"zero_optimization": {"stage": 3}},
}


def test_saved_arguments_are_no_deepspeed_config() -> None:
    assert not read_jobs({"args.json": json.dumps(SAVED)})
    own = {"zero_optimization": {"stage": 3}, "my_key": 1, "other_key": 2}
    (config,) = read_jobs({"ds.json": json.dumps(own)})
    assert config.framework == "deepspeed"

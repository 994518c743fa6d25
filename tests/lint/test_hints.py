"""What is an error or a warning in one file, and only a hint in another that differs in one thing."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n"
MODEL = (
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --lr 1e-4 "
    "--max-position-embeddings 1024 --micro-batch-size 4 --train-iters 10 --bf16"
)

GUARDED = """EP=8; N=4
{}
WORLD=$((N * 1))
if (( WORLD < EP )); then
  exit 1
fi
torchrun --nproc_per_node $N train.py
"""


@pytest.mark.parametrize(
    "parsed, arguments, severity",
    [
        ("", (), "warning"),
        ("TAG=$(date)", (), "warning"),
        ("N=${1:-4}", (), "warning"),
        ('EP="$1"', ("9",), "warning"),
        ('args=("$@")\nfor ((i=0; i<${#args[@]}; i++)); do EP="${args[$i]}"; done', (), None),
        ('while [[ $# -gt 0 ]]; do case $1 in --ep) EP="$2"; shift 2;; esac; done', (), None),
    ],
)
def test_a_guard_of_what_the_arguments_set_is_a_hint(
    parsed: str, arguments: tuple[str, ...], severity: str | None
) -> None:
    """Or nothing at all, where the reading leaves open what the arguments set."""
    text = "#!/bin/bash\n" + GUARDED.format(parsed)
    jobs = read_jobs({"job.sh": text}, arguments=arguments)
    judged = judge(jobs, LintOptions(own_levels=True, select=("PAR809",), arguments=arguments))
    said = [found.severity for job in judged for found in job.findings]
    assert said == ([severity] if severity else [])


ARMS = 'case "$KIND" in\nsft)\n  if [[ "$M" == "base" ]]; then exit 1; fi ;;\n*) exit 2 ;;\nesac\n'
#: Code, a script that is warned of, and one of which it is only a hint.
AGAIN = "again() {\n  scontrol requeue $SLURM_JOB_ID\n}\n"
DS = "cat > ds.json <<EOF\n{{{}}}\nEOF\ndeepspeed train.py --deepspeed_config ds.json\n"
RATE = (
    'cat > ds.json <<EOF\n{{"optimizer": {{"type": "Adam", "params": {{"lr": 2e-4}}}}}}\nEOF\n'
    "torchrun --nproc_per_node 1 train.py {}\n"
)
RANK = 'srun bash -c "torchrun --nnodes 2 --node_rank $SLURM_PROCID --master_addr a train.py"\n'
RUN = f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL}\n"
CONFIRM = 'if [ "${SURE:-}" != "YES" ]; then exit 1; fi\n' "torchrun --nproc_per_node 8 train.py\n"
WIDE = f"torchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} --tensor-model-parallel-size 4\n"
TITAN = """cat > t.toml <<EOF
[model]
name = "{}"
[training]
seq_len = 65536
[parallelism]
context_parallel_degree = 24
EOF
torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file t.toml
"""
CLOUD = (
    "torchrun --nproc_per_node 3 --nnodes 2 --node_rank 1 --master_addr a pretrain_gpt.py "
    f"{MODEL} --pipeline-model-parallel-size 4\n"
)
#: Code, a file of which it is said, and one in which it is a hint.
HINTS = {
    "an optimizer that the program imports": (
        "PAR416",
        DS.format('"train_batch_size": 8, "optimizer": {"type": "FusedEmaAdam"}'),
        DS.format('"train_batch_size": 8, "optimizer": {"type": "own.ops.FusedEmaAdam"}'),
    ),
    "a variable that a file of the site may set": (
        "PAR304",
        f"source ~/conda/etc/profile.d/conda.sh\n{WIDE}",
        f"source $WORK/start-training\n{WIDE}",
    ),
    "samples that a torchtitan of one's own may pad": (
        "PAR131",
        TITAN.format("llama3"),
        TITAN.format("org/llama-vision-7b"),
    ),
    "a guard that the environment answers, as its message says": (
        "PAR809",
        f'SURE=no\n{CONFIRM}',
        f'echo "Run: SURE=YES bash job.sh" >&2\n{CONFIRM}',
    ),
    "GPUs of nodes whose sizes differ": (
        "PAR101",
        f"WORLD_SIZE=6\n{CLOUD}",
        f"WORLD_SIZE=4\n{CLOUD}",
    ),
    "a container for a script that calls nothing of SLURM": (
        "PAR657",
        HEADER + "#SBATCH --container-image=train.sqsh\nsrun python train.py\n",
        HEADER + "#SBATCH --container-image=train.sqsh\naccelerate launch train.py\n",
    ),
    "a variable that a comment keeps": (
        "PAR808",
        "# seen last week\nexport CUDA_LAUNCH_BLOCKING=1\ntorchrun --nproc_per_node 8 train.py\n",
        "# do not remove or the training will hang\nexport CUDA_LAUNCH_BLOCKING=1\n"
        "torchrun --nproc_per_node 8 train.py\n",
    ),
    "directives that are switched off": (
        "PAR632",
        HEADER + "# SBATCH --mem=24G\nsrun hostname\n",
        HEADER + "# SBATCH --mem=24G\n#SBATCH --mem-per-cpu=10G\n# SBATCH --exclusive\nsrun hostname\n",
    ),
    "a placeholder of a script that asks for it": (
        "PAR803",
        HEADER + "#SBATCH --account=<account>\n# change of plan: two nodes\nsrun hostname\n",
        HEADER + "#SBATCH --account=<account>\n# Update the values above for your site\nsrun hostname\n",
    ),
    "a folder of the cluster": (
        "PAR647",
        HEADER + "#SBATCH --output=logs/%j\nmkdir -p logs\nsrun hostname\n",
        HEADER + "#SBATCH --output=/fsx/logs/%j\nmkdir -p /fsx/logs\nsrun hostname\n",
    ),
    "a folder that the usage says to make": (
        "PAR647",
        HEADER + "#SBATCH --output=logs/%j\n# mkdir -p out\nmkdir -p logs\nsrun hostname\n",
        HEADER + "#SBATCH --output=logs/%j\n#   mkdir -p logs  # before sbatch\nmkdir -p logs\nsrun true\n",
    ),
    "a requeue that a signal asks for": (
        "PAR649",
        HEADER + "srun hostname || scontrol requeue $SLURM_JOB_ID\n",
        HEADER + "#SBATCH --signal=B:USR1@60\ntrap 'scontrol requeue $SLURM_JOB_ID' USR1\nsrun hostname\n",
    ),
    "a requeue in a branch, beside a trap": (
        "PAR649",
        HEADER + "trap 'rm -f lock' TERM\nif ! srun hostname; then\n  scontrol requeue $SLURM_JOB_ID\nfi\n",
        HEADER + "trap 'rm -f lock; scontrol requeue $SLURM_JOB_ID' TERM\nsrun hostname\n",
    ),
    "a requeue of a function that a signal may start": (
        "PAR649",
        HEADER + AGAIN + "trap again EXIT\nsrun hostname & wait\n",
        HEADER + AGAIN + "trap again SIGUSR1\nsrun hostname & wait\n",
    ),
    "a variable that is only printed": (
        "PAR606",
        HEADER + "srun echo --nodes=$SLURM_NUM_NODES\nsrun train.sh $SLURM_JOB_NODES\n",
        HEADER + "echo nodes: $SLURM_NUM_NODES\nsrun hostname\n",
    ),
    "a printed variable, before and behind what ends a script at it": (
        "PAR606",
        HEADER + "set -euo pipefail\necho nodes: $SLURM_NUM_NODES\nsrun hostname\n",
        HEADER + "echo nodes: $SLURM_NUM_NODES\nset -euo pipefail\nsrun hostname\n",
    ),
    "a variable that is written to a file": (
        "PAR606",
        HEADER + "echo $SLURM_NUM_NODES > hosts\nsrun hostname\n",
        HEADER + "echo $SLURM_NUM_NODES\nsrun hostname\n",
    ),
    "the number of a task among several of one node": (
        "PAR607",
        "#!/bin/bash\n#SBATCH --nodes=1\n" + RANK.replace("srun", "srun -n 2"),
        "#!/bin/bash\n#SBATCH --nodes=1\n" + RANK,
    ),
    "the number of the only node": (
        "PAR607",
        HEADER + RANK,
        "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=1\n" + RANK,
    ),
    "a guard of what the environment must give": (
        "PAR809",
        'OK=${OK:-no}\nif [[ "$OK" != "yes" ]]; then exit 3; fi\n' + RUN,
        'if [[ "${OK:-}" != "yes" ]]; then exit 3; fi\n' + RUN,
    ),
    "a note below the last command": (
        "PAR631",
        HEADER + "srun hostname\n#SBATCH --mem=1G\nsrun true\n",
        HEADER + "srun hostname\n# the first run had\n#SBATCH --mem=1G\n",
    ),
    "the number of the only node, of a command that counts none": (
        "PAR607",
        "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=1\n" + RANK.replace("2 ", "$SLURM_NNODES "),
        "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=1\n" + RANK,
    ),
    "a value of a section that older releases do not check": (
        "PAR416",
        DS.format('"zero_optimization": {"stage": 5}'),
        DS.format('"fp16": {"enabled": true, "min_loss_scale": 1e-10}'),
    ),
    "a guard in an arm that an argument chooses": (
        "PAR809",
        "KIND=sft\nM=base\n" + ARMS + f"torchrun pretrain_gpt.py {MODEL}\n",
        "KIND=${1:?usage}\nM=base\n" + ARMS + f"torchrun pretrain_gpt.py {MODEL}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("code, warned, hinted", HINTS.values(), ids=HINTS)
def test_what_is_only_a_hint(code: str, warned: str, hinted: str) -> None:
    options = LintOptions(own_levels=True, select=(code,))
    said = [
        [
            found.severity
            for job in judge(read_jobs({"job.sh": text}), options)
            for found in job.findings
        ]
        for text in (warned, hinted)
    ]
    assert said[0] and "info" not in said[0]
    assert said[1] and set(said[1]) == {"info"}


SWEEP = """for tp in {}; do
  for batch in {}; do
    torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 \\
      --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --lr 1e-4 \\
      --train-iters {} --bf16 --tensor-model-parallel-size $tp \\
      --pipeline-model-parallel-size {} --micro-batch-size 1 --global-batch-size $batch
  done
done
"""


@pytest.mark.parametrize(
    "tps, batches, severities",
    [
        ("1 2", "4", {"info"}),
        ("1", "4 16", {"info"}),
        ("1", "4 12", {"error"}),
        ("1", "4", {"error"}),
    ],
)
def test_a_batch_that_one_round_of_a_sweep_does_not_divide(
    tps: str, batches: str, severities: set[str]
) -> None:
    text = SWEEP.format(tps, batches, 1000, 1)
    judged = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR201",)))
    assert {found.severity for job in judged for found in job.findings} == severities


@pytest.mark.parametrize("steps, severity", [(1000, "warning"), (4, "info")])
def test_an_idle_pipeline_of_a_run_of_few_steps(steps: int, severity: str) -> None:
    text = SWEEP.format("1", "2 3", steps, 8)
    judged = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR204",)))
    assert {found.severity for job in judged for found in job.findings} == {severity}


def test_a_list_that_scontrol_knows_by_itself_is_a_warning() -> None:
    slip = HEADER + "nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIS ) )\nsrun hostname\n"
    for text, severity in (
        (slip, "warning"),
        (slip.replace("nodes=", "set -u\nnodes="), "error"),
        (slip.replace("scontrol show hostnames", "expand"), "error"),
    ):
        judged = judge(
            read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR606",))
        )
        assert [found.severity for job in judged for found in job.findings] == [severity]


SUBMITTED = "#!/bin/bash\n#SBATCH --gres=gpu:1\n{} train.sh\n"


@pytest.mark.parametrize("how, said", [("sbatch --gres=gpu:4", False), ("srun bash", True)])
def test_gpus_of_a_script_that_submits_another(how: str, said: bool) -> None:
    files = {
        "job.sh": SUBMITTED.format(how),
        "train.sh": "#!/bin/bash\ntorchrun --nproc_per_node 4 train.py\n",
    }
    judged = judge(read_jobs(files), LintOptions(own_levels=True, select=("PAR603",)))
    assert any(job.findings for job in judged) == said


WORLD = (
    "torchrun --nnodes ${{{}}} --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4 "
    "--pipeline-model-parallel-size 4 --num-layers 32 --hidden-size 1024 --num-attention-heads 16\n"
)


@pytest.mark.parametrize(
    "nodes, severity",
    [
        ("N:-1", "warning"),
        ('N:-"1"', "warning"),
        ("N=1", "warning"),
        ("NODES", "error"),
        ("WORLD_SIZE:-1", "info"),
    ],
)
def test_too_few_gpus_of_a_default_of_nodes_are_a_warning(nodes: str, severity: str) -> None:
    """The environment overrules the default; more nodes never mend a batch, which stays an error."""
    text = "NODES=1\n" + WORLD.format(nodes)
    (job,) = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR101",)))
    assert [found.severity for found in job.findings] == [severity]


NANOTRON = """model:
  model_config:
    hidden_size: 64
    num_attention_heads: 4
    num_hidden_layers: 2
parallelism:
  dp: 4
  pp: 1
  tp: 2
tokens:
  micro_batch_size: 1
  sequence_length: 64
  batch_accumulation_per_replica: 1
"""


@pytest.mark.parametrize("config, severity", [("mini.yaml", "error"), ("$C", "warning")])
def test_degrees_of_a_config_that_stands_in_for_another_one(config: str, severity: str) -> None:
    script = (
        f': ${{C:="mini.yaml"}}\ntorchrun --nproc_per_node 16 run_train.py --config-file {config}\n'
    )
    script = script if config == "$C" else script.split("\n", 1)[1]
    judged = judge(
        read_jobs({"job.sh": script, "mini.yaml": NANOTRON}),
        LintOptions(own_levels=True, select=("PAR103",)),
    )
    assert [found.severity for job in judged for found in job.findings] == [severity]


def test_a_learning_rate_of_a_trainers_yaml_is_an_error() -> None:
    """transformers raises where its arguments differ from the config, wherever they stand."""
    yaml = (
        "stage: sft\nmodel_name_or_path: m\ndeepspeed: ds.json\noutput_dir: o\n"
        "per_device_train_batch_size: 1\nlearning_rate: 1.0e-4\n"
    )
    ds = '{"optimizer": {"type": "AdamW", "params": {"lr": 2e-4}}}'
    run = "llamafactory-cli train train.yaml\n"
    configs = read_jobs({"run.sh": run, "train.yaml": yaml, "ds.json": ds})
    judged = judge(configs, LintOptions(own_levels=True, select=("PAR207",)))
    assert [found.severity for job in judged for found in job.findings] == ["error"]


@pytest.mark.parametrize(
    ("arguments", "severity"),
    [
        ("--deepspeed ds.json --output_dir o --learning_rate 1e-4 --num_train_epochs 1", "error"),
        ("--deepspeed --deepspeed_config ds.json --lr 1e-4", "warning"),
    ],
)
def test_two_learning_rates_of_a_program_of_ones_own_are_a_warning(
    arguments: str, severity: str
) -> None:
    judged = judge(
        read_jobs({"job.sh": RATE.format(arguments)}),
        LintOptions(own_levels=True, select=("PAR207",)),
    )
    assert [found.severity for job in judged for found in job.findings] == [severity]


@pytest.mark.parametrize(
    "how, severity", [("--master_addr h", "error"), ("--rdzv_backend c10d", "info")]
)
def test_a_rank_that_c10d_does_not_read_is_a_hint(how: str, severity: str) -> None:
    text = HEADER + f"srun torchrun --node_rank $SLURM_NODEID {how} train.py\n"
    (job,) = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True))
    found = [each.diagnostic.severity for each in job.findings if each.code == "PAR607"]
    assert found == [severity]


@pytest.mark.parametrize("backend, severity", [("static", "error"), ("c10d", "info")])
def test_the_rank_of_accelerates_machine_is_that_of_torchruns_node(
    backend: str, severity: str
) -> None:
    run = "accelerate launch --multi_gpu --num_machines 2 --num_processes 8 --main_process_ip h"
    text = (
        f'{HEADER}srun bash -c "{run} --rdzv_backend {backend} --machine_rank $SLURM_PROCID t.py"\n'
    )
    (job,) = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR607",)))
    assert [each.severity for each in job.findings] == [severity]

"""What draws of public repositories had wrong or missed: files that differ in one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

ZERO = '{"train_batch_size": "auto", "zero_optimization": {"stage": 3}}'
TRAINER = (
    "torchrun --nproc_per_node 4 t.py --output_dir o --per_device_train_batch_size 1 "
    "--learning_rate 1e-5 --num_train_epochs 1 --deepspeed "
)
HEADER = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:2\n"
TESTED = (
    '[ -z "$SLURM_GPUS" ] && exit 0\n'
    "srun python -m torch.distributed.run --nproc_per_node $SLURM_GPUS t.py\n"
)
ACCELERATE = (
    "distributed_type: MULTI_GPU\ngpu_ids: '0,1'\nnum_machines: 1\nnum_processes: {}\n"
    "machine_rank: 0\nmixed_precision: bf16\n"
)
LAUNCH = "accelerate launch --config_file a.yaml train.py --output_dir o --learning_rate 1e-4\n"
OWN = (
    "import transformers\nfrom dataclasses import dataclass\n\n@dataclass\n"
    "class Own(transformers.TrainingArguments):\n    by_modality: bool = False\n"
)
TWICE = (
    "torchrun --nproc_per_node 4 own.py --output_dir o --per_device_train_batch_size 1 \\\n"
    "    --by_modality True --learning_rate 1e-4 \\\n    --{} False\n"
)
POD = (
    "apiVersion: batch/v1\nkind: Job\nspec:\n  parallelism: 1\n  completions: 1\n  template:\n"
    "    spec:\n      containers:\n      - name: head\n"
    '        resources: {limits: {nvidia.com/gpu: "8"}}\n'
    "        command:\n        - /bin/bash\n        - -c\n        - |\n          %s\n"
    "          python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8 trainer.nnodes=2 "
    "data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=64\n"
)
FREE = "accelerate launch --num_processes 8 train.py --output_dir o --learning_rate 1e-5"
TITAN = "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file {}.toml {}\n"
TOML = (
    '[model]\nname = "llama3"\nflavor = "8B"\n[optimizer]\nlr = 3e-4\n'
    '[checkpoint]\nenable_checkpoint = true\nfolder = "/shared/run"\n'
)
BOTH = "micro_batch_size: 1\ngradient_accumulation_steps: 1\nlearning_rate: 1e-5\nbf16: true\nfp16: true\n"
SCALE = (
    '{"train_batch_size": "auto", "fp16": {"enabled": "auto", "min_loss_scale": 1e-10}, '
    '"zero_optimization": {"stage": 2}}'
)
LOOSE = 'if [ ! -d "$1" ]; then\n    {}\nfi\ntorchrun --nproc_per_node 8 train.py --load "$1"\n'
#: Code, its levels, and files.
CASES: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "a config that a script writes": (
        "PAR807", [], {"a.sh": f"cat > z.json <<EOF\n{ZERO}\nEOF\n{TRAINER}z.json\n"},
    ),
    "a config of that name with a loose comma": (
        "PAR807", ["error"], {"a.sh": f"{TRAINER}z.json\n", "z.json": ZERO.replace("}}", "},}")},
    ),
    "a count of GPUs that --gres does not set": (
        "PAR644", ["error", "error"], {"a.sbatch": HEADER + TESTED},
    ),
    "a count of GPUs that --gpus sets": (
        "PAR644", [],
        {"a.sbatch": HEADER.replace("--gres=gpu:", "--gpus=") + TESTED},
    ),
    "a count of GPUs with a default": (
        "PAR644", [],
        {"a.sbatch": HEADER + TESTED.replace("$SLURM_GPUS", "${SLURM_GPUS:-2}")},
    ),
    "more processes than gpu_ids": (
        "PAR603", ["error"], {"a.sh": LAUNCH, "a.yaml": ACCELERATE.format(4)},
    ),
    "a config whose command is not there": ("PAR603", ["warning"], {"a.yaml": ACCELERATE.format(4)}),
    "as many processes as gpu_ids": (
        "PAR603", [], {"a.sh": LAUNCH, "a.yaml": ACCELERATE.format(2)},
    ),
    "an option of the program's own, twice": (
        "PAR397", ["info"], {"a.sh": TWICE.format("by_modality"), "own.py": OWN},
    ),
    "an option that nothing declares, twice": ("PAR397", [], {"a.sh": TWICE.format("by_modality")}),
    "the head of a Ray cluster": (
        "PAR471", [], {"a.yaml": POD % "ray start --head --port=6379"},
    ),
    "nodes without a cluster": ("PAR471", ["info"], {"a.yaml": POD % "nvidia-smi"}),
    "continue in no loop": ("PAR815", ["error"], {"a.sh": LOOSE.format("continue")}),
    "continue behind a guard": ("PAR815", ["error"], {"a.sh": LOOSE.format("echo no; continue")}),
    "continue in a loop": (
        "PAR815", [],
        {"a.sh": "for step in 1 2; do\n" + LOOSE.format("continue").replace("$1", "$step") + "done\n"},
    ),
    "continue in a function": (
        "PAR815", [],
        {"a.sh": "skip() {\n" + LOOSE.format("continue") + "}\nfor x in a b; do skip $x; done\n"},
    ),
    "continue as a word": ("PAR815", [], {"a.sh": LOOSE.format('echo "continue"')}),
    "experts of a program that is not there": (
        "PAR486", ["info"],
        {
            "a.sh": f"{TRAINER}z.json --model_name_or_path a/Mixtral-8x7B\n",
            "z.json": ZERO,
        },
    ),
    "switches of another network, of no count of nodes": (
        "PAR703", ["info"], {"a.sh": f"export NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5\n{FREE}\n"},
    ),
    "switches of another network, of nodes that a caller counts": (
        "PAR703", ["warning"],
        {
            "a.sh": "export NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5\n"
            + FREE.replace("launch ", "launch --num_machines $HOSTS ") + "\n",
        },
    ),
    "a seed checkpoint and the job that begins with it": (
        "PAR675", [],
        {
            "seed.sh": TITAN.format("t", "--checkpoint.create_seed_checkpoint"),
            "train.sh": TITAN.format("u", ""),
            "t.toml": TOML, "u.toml": TOML.replace("3e-4", "1e-4"),
        },
    ),
    "two jobs with one folder": (
        "PAR675", ["info"],
        {
            "one.sh": TITAN.format("t", ""), "two.sh": TITAN.format("u", ""),
            "t.toml": TOML, "u.toml": TOML.replace("3e-4", "1e-4"),
        },
    ),
    "a folder that the docs say to make": (
        "PAR647", [],
        {
            "a.sbatch": f"{HEADER}#SBATCH --output=logs/%j.out\nmkdir -p logs\nsrun python t.py\n",
            "docs/runbook.md": "```bash\nmkdir -p logs\nsbatch a.sbatch\n```\n",
        },
    ),
    "a folder that the script's header says to make": (
        "PAR647", ["info"],
        {
            "a.sbatch": "#!/bin/bash\n# Create logs/ before submission.\n#SBATCH --nodes=1\n"
            "#SBATCH --output=logs/%j.out\nsrun python t.py\n",
        },
    ),
    "another folder, which is not known": (
        "PAR647", ["warning"],
        {
            "a.sbatch": f"{HEADER}#SBATCH --output=logs/%j.out\nmkdir -p $(date +%F)\nsrun python t.py\n",
        },
    ),
    "both precisions of axolotl": (
        "PAR501", [], {"a.yaml": "base_model: a/b\n" + BOTH, "a.sh": "axolotl train a.yaml\n"},
    ),
    "both precisions of LLaMA-Factory": (
        "PAR501", ["error"],
        {
            "a.yaml": "model_name_or_path: a/b\nstage: sft\nper_device_train_batch_size: 1\n" + BOTH,
            "a.sh": "llamafactory-cli train a.yaml\n",
        },
    ),
    "a loss scale of a release that checks none": (
        "PAR416", ["info"],
        {
            "a.sh": f"{TRAINER}z.json\n", "z.json": SCALE,
            "pyproject.toml": '[project]\nname = "x"\n[project.optional-dependencies]\n'
            'train = ["deepspeed==0.9.5"]\n',
        },
    ),
    "a loss scale of a release that checks it": (
        "PAR416", ["error"],
        {
            "a.sh": f"{TRAINER}z.json\n", "z.json": SCALE, "requirements.txt": "deepspeed==0.18.2\n",
        },
    ),
    "a folder that nobody makes before": (
        "PAR647", ["error"],
        {
            "a.sbatch": f"{HEADER}#SBATCH --output=logs/%j.out\nmkdir -p logs\nsrun python t.py\n",
            "docs/runbook.md": "```bash\nsbatch a.sbatch\n```\n",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_and_what_is_not(name: str, capsys: Captured) -> None:
    code, levels, files = CASES[name]
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    said = [each["severity"] for each in findings(capsys, ".") if each["code"] == code]
    assert said == levels

"""What a fork, or a file that is not there, may change is not said as if the framework's own release ran."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

VERL = (
    "python3 -m verl.trainer.main_ppo data.train_batch_size={} {} trainer.n_gpus_per_node=8 "
    "actor_rollout_ref.actor.ppo_mini_batch_size=128\n"
)

ASYNCHRONOUS = VERL.format(0, "").replace(
    "trainer.main_ppo", "experimental.fully_async_policy.main"
)


@pytest.mark.parametrize(
    "command, said",
    [
        (VERL.format(64, ""), True),
        (VERL.format(64, "+trainer.note=1"), True),
        (VERL.format(64, "data.n_samples=8"), False),
        (VERL.format(64, "env.rollout.n=8"), False),
        (VERL.format(64, "actor_rollout_ref.actor.use_dynamic_bsz=True"), False),
        (VERL.format(0, ""), True),
        (ASYNCHRONOUS, False),
    ],
)
def test_batches_of_forks_of_verl_count_otherwise(command: str, said: bool) -> None:
    """Samples or an agent's steps, which keys tell that no verl has; the asynchronous trainer has 0, and
    where tokens are packed the whole step is an update."""
    judged = judge(read_jobs({"job.sh": command}), LintOptions(own_levels=True, select=("PAR472",)))
    assert any(job.findings for job in judged) == said


SOURCED = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 "
    "--num-attention-heads 16 --micro-batch-size 4 --global-batch-size 24 $MODEL_ARGS"
)


@pytest.mark.parametrize(
    "text, said",
    [
        (f"NAME=$1\n{SOURCED}\n", True),
        (f"source $1\n{SOURCED}\n", False),
        (f'NAME=$1\neval "{SOURCED}"\n', True),
        (f'source $1\nCOMMAND="{SOURCED}"\neval $COMMAND\n', False),
    ],
)
def test_a_file_that_an_argument_names_may_set_degrees(text: str, said: bool) -> None:
    """Of a command that `eval` reads again too: what is unknown there may be several words."""
    judged = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR201",)))
    assert any(job.findings for job in judged) == said


OWN_KEYS = """[model]
name = "llama3"

[training]
local_batch_size = 8
{keys}
[parallelism]
tensor_parallel_degree = 2
"""


@pytest.mark.parametrize(
    "keys, severity",
    [
        ("seq_lens = 4096\n", "warning"),
        ('dataset_type = "nanoset"\ndataset_folder = "data"\n', "info"),
        ('seq_lens = 4096\n[voxels]\nfolder = "data"\n', "info"),
    ],
)
def test_several_keys_of_nobody_are_a_forks_own(keys: str, severity: str) -> None:
    configs = read_jobs({"train.toml": OWN_KEYS.format(keys=keys)})
    judged = judge(configs, LintOptions(own_levels=True, select=("PAR365",)))
    assert {found.severity for job in judged for found in job.findings} == {severity}


@pytest.mark.parametrize(
    "variable, said", [("MACHINES", True), ("NHOSTS", False), ("PBS_NCPUS", False)]
)
def test_variables_of_other_batch_systems_are_set(variable: str, said: bool) -> None:
    text = f"torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --global-batch-size ${variable}\n"
    judged = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR801",)))
    assert any(job.findings for job in judged) == said


@pytest.mark.parametrize("stage, said", [("rm", True), ("orpo", False)])
def test_stages_that_keep_no_best_model(stage: str, said: bool) -> None:
    text = (
        f"CUDA_VISIBLE_DEVICES=0 python src/train_bash.py --stage {stage} --do_train "
        "--model_name_or_path m --finetuning_type lora --output_dir o --load_best_model_at_end "
        "--per_device_train_batch_size 1 --learning_rate 1e-5 --save_steps 100\n"
    )
    judged = judge(read_jobs({"job.sh": text}), LintOptions(own_levels=True, select=("PAR474",)))
    assert any(job.findings for job in judged) == said


@pytest.mark.parametrize(
    "versions, severity", [({}, "warning"), ({"transformers": "4.57"}, "error")]
)
def test_a_program_may_declare_what_transformers_dropped(
    versions: dict[str, str], severity: str
) -> None:
    text = (
        "pip install transformers==4.57.6\ntorchrun --nproc_per_node 8 train.py --output_dir o "
        "--learning_rate 1 --save_steps 9 --evaluation_strategy no\n"
    )
    options = LintOptions(own_levels=True, select=("PAR389",), versions=versions)
    judged = judge(read_jobs({"job.sh": text}), options)
    assert [found.severity for job in judged for found in job.findings] == [severity]

"""Slips in how a job is started, each beside what looks like it and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.__main__ import main
from tests.support.linted import Captured, codes, findings

JSON = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}}'


def said(capsys: Captured, code: str, **files: str) -> bool:
    """Whether `parc lint .` says a code of the files, whose names have `_` for the last dot."""
    for name, text in files.items():
        Path(".".join(name.rsplit("_", 1))).write_text(text)
    return code in codes(capsys, ".")


HOSTS = "deepspeed --hostfile {} train.py --deepspeed_config ds.json\n"


@pytest.mark.parametrize(
    "script, hosts, expected",
    [
        (HOSTS.format("hosts.txt"), "a slots=8\n\n# b\nb  slots=8 # spare\n", False),
        (HOSTS.format("hosts.txt"), "a slots=8\nb 8\n", True),
        (HOSTS.format("./hosts.txt"), "a slots = 8\n", True),
        (HOSTS.format("/job/hosts.txt"), "a\n", False),
        (HOSTS.format("$HOSTS"), "a\n", False),
        ("HOSTS=hosts.txt\n" + HOSTS.format("$HOSTS"), "a\n", True),
        ("echo a slots=8 > hosts.txt\n" + HOSTS.format("hosts.txt"), "a\n", False),
        ("HOSTS=hosts.txt\nmake_hosts | tee $HOSTS\n" + HOSTS.format("$HOSTS"), "a\n", False),
        ("mpirun --hostfile hosts.txt python train.py --lr 1\n", "a:8\n", False),
    ],
)
def test_hostfiles(script: str, hosts: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR812", run_sh=script, hosts_txt=hosts, ds_json=JSON) == expected


BATCH = (
    "#!/bin/bash\n#SBATCH --nodes={}\n{}\nsrun torchrun --nnodes 2 --nproc_per_node 8 train.py\n"
)
NAMES = '$(scontrol show hostnames "$SLURM_JOB_NODELIST")'


@pytest.mark.parametrize(
    "nodes, lines, expected",
    [
        (2, f'n=("{NAMES}")\nh=${{n[0]}}', True),
        (2, f'x={NAMES}\nn=("$x")\nh=${{n[0]}}', True),
        (2, f'x="{NAMES}"\nn=( "${{x}}" )\nh=${{n[$i]}}', True),
        (2, f'x={NAMES}\nn=($x)\nh=${{n[0]}}', False),
        (1, f'n=("{NAMES}")\nh=${{n[0]}}', False),
        (2, f'n=("{NAMES}")\nfor h in ${{n[@]}}; do ping $h; done', False),
        (2, f'x={NAMES[:-1]} | head -n 1)\nn=("$x")\nh=${{n[0]}}', False),
        (2, 'x=a\nn=("$x")\nh=${n[0]}', False),
        (2, f'x={NAMES}\nx=$(echo $x | cut -d" " -f1)\nn=("$x")\nh=${{n[0]}}', False),
        (2, f'n=("{NAMES}" spare)\nh=${{n[0]}}', False),
    ],
)  # fmt: skip
def test_lists_of_nodes(nodes: int, lines: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR811", job_sbatch=BATCH.format(nodes, lines)) == expected


STEP = "#!/bin/bash\n#SBATCH --nodes=1\n{}\nsrun --container-image=a {} python train.py --lr 1\n"


@pytest.mark.parametrize(
    "before, option, expected",
    [
        ("", "--container-env=A=1", True),
        ("", '--container-env "B,A=$X"', True),
        ("#SBATCH --container-env=A=1", "", True),
        ("", "--container-env=A,B", False),
        ("", "--container-env=$A", False),
        ("# --container-env=A=1", "", False),
        ("", "--export=A=1", False),
        ("gcloud compute instances create-with-container x --container-env=A=1", "", False),
    ],
)
def test_names_for_pyxis(before: str, option: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR668", job_sbatch=STEP.format(before, option)) == expected


SFT = "deepspeed {} --module openrlhf.cli.train_sft --micro_train_batch_size 2 --train_batch_size {}\n"
PPO = SFT.replace("train_sft", "train_ppo")


@pytest.mark.parametrize(
    "script, expected",
    [
        (SFT.format("--num_gpus 6", 256), True),
        (SFT.format("--num_gpus 6", 240), False),
        (SFT.format("--num_gpus 8", 8), True),
        (SFT.format("--include localhost:0,1,2", 256), True),
        (SFT.format("", 255), False),
        (SFT.format("--num_gpus 6", 256).replace(" 256", " 256 --ring_attn_size 3"), False),
        (SFT.format("--num_gpus 6", 256).replace(" 256", " 256 --ring_attn_size $R"), False),
        (SFT.format("--num_gpus 6", 256).replace(" 256", " 256 --use_dynamic_batch"), False),
        (SFT.format("--num_gpus 6", "$B"), False),
        (PPO.format("--num_gpus 6", 256), False),
    ],
)
def test_batches_of_openrlhf(script: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR210", run_sh=script) == expected


YAML = "base_model: a/b\nmicro_batch_size: 1\noutput_dir: o\n{}\n"


@pytest.mark.parametrize(
    "keys, expected",
    [
        ("load_in_8bit: true\nfsdp:\n  - full_shard", True),
        ("load_in_8bit: true\nfsdp: full_shard auto_wrap", True),
        ("load_in_8bit: true\nfsdp:", False),
        ("load_in_8bit: true\nfsdp: []", False),
        ("load_in_8bit: false\nfsdp:\n  - full_shard", False),
        ("load_in_4bit: true\nfsdp:\n  - full_shard", False),
        ("load_in_8bit: true\nfsdp:\n  - full_shard\nfsdp_version: 2", False),
        ("load_in_8bit: true\nfsdp:\n  - full_shard\nfsdp_config:\n  fsdp_version: 2", False),
        ("load_in_8bit: true\ndeepspeed: ds.json", False),
    ],
)
def test_eight_bits_under_fsdp(keys: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR504", train_yaml=YAML.format(keys), ds_json=JSON) == expected


ACCELERATE = "distributed_type: MULTI_GPU\nnum_machines: {}\nnum_processes: 8\n"
ON_EACH = (
    "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n"
    "{} accelerate launch --config_file a.yaml {} train.py --lr 1\n"
)
JOINED = "--main_process_ip $HEAD --machine_rank $SLURM_NODEID"


@pytest.mark.parametrize(
    "machines, step, options, expected",
    [
        (1, "srun", JOINED, True),
        (2, "srun", JOINED, False),
        (1, "srun", f"{JOINED} --num_machines 2", False),
        (1, "srun", "", False),
        (1, "srun -N 1", JOINED, False),
        (1, "", JOINED, False),
    ],
)
def test_machines_of_accelerate(
    machines: int, step: str, options: str, expected: bool, capsys: Captured
) -> None:
    files = {"job_sbatch": ON_EACH.format(step, options), "a_yaml": ACCELERATE.format(machines)}
    assert said(capsys, "PAR601", **files) == expected


PROGRAM = """import argparse
p = argparse.ArgumentParser()
p.add_argument('--lr')
a, _ = p.parse_known_args()
"""
DROPPED = "torchrun --nproc_per_node 8 {} --lr 1 {}\n"


@pytest.mark.parametrize(
    "program, options, text, expected",
    [
        ("train.py", "--wd 1", PROGRAM, True),
        ("./train.py", "--wd 1", PROGRAM, True),
        ("train.py", "--l 1", PROGRAM, False),
        ("train.py", "--local_rank 0", PROGRAM, False),
        ("other/train.py", "--wd 1", PROGRAM, False),
        ("train.py", "--wd 1", PROGRAM.replace("_known_args", "_args").replace("a, _", "a"), False),
        ("train.py", "--wd 1", f"import megatron\n{PROGRAM}", False),
    ],
)
def test_options_that_a_program_drops(
    program: str, options: str, text: str, expected: bool, capsys: Captured
) -> None:
    run = DROPPED.format(program, options)
    assert said(capsys, "PAR480", run_sh=run, train_py=text) == expected


@pytest.mark.parametrize("code", ["PAR210", "PAR480", "PAR504", "PAR668", "PAR812", "PAR811"])
def test_new_rules_are_silent_in_an_older_set(code: str, capsys: Captured) -> None:
    Path("parc.toml").write_text('rules = "2026-11"\n')
    assert not said(capsys, code, job_sbatch=BATCH.format(2, f'n=("{NAMES}")\nh=${{n[0]}}'))
    assert main(["lint", "--explain", code]) == 0
    assert code in capsys.readouterr().out


FACTORY = "model_name_or_path: a/b\nper_device_train_batch_size: 1\n{}\n"


@pytest.mark.parametrize(
    "keys, expected",
    [
        ("evaluation_strategy: steps", True),
        ("eval_strategy: steps", False),
        ("stage: sft\nfinetuning_type: lora\noverwrite_output_dir: true", False),
        ("overwrite_output_dir: true", True),
    ],
)
def test_arguments_in_the_yaml_of_a_command(keys: str, expected: bool, capsys: Captured) -> None:
    run, yaml = "llamafactory-cli train t.yaml\n", FACTORY.format(keys)
    assert said(capsys, "PAR389", run_sh=run, t_yaml=yaml) == expected


def test_keys_of_a_trainer_with_words_of_its_own(capsys: Captured) -> None:
    yaml = "base_model: a/b\nmicro_batch_size: 1\noverwrite_output_dir: true\noutput_dir: o\n"
    assert not said(capsys, "PAR389", run_sh="axolotl train t.yaml\n", t_yaml=yaml)


COSINE = '{"train_micro_batch_size_per_gpu": 4, "scheduler": {"type": "WarmupCosineLR"}}'


@pytest.mark.parametrize(
    "version, expected", [("0.12.2", True), ("0.12.3", False), ("0.9.5", True), ("0.12", False)]
)
def test_a_schedule_that_came_later(version: str, expected: bool, capsys: Captured) -> None:
    run = f"pip install deepspeed=={version}\ndeepspeed train.py --deepspeed_config ds.json\n"
    assert said(capsys, "PAR416", run_sh=run, ds_json=COSINE) == expected


HF = (
    "{}deepspeed --num_gpus 8 run_clm.py --output_dir o --per_device_train_batch_size 1 --learning_rate 1e-5 "
    "--num_train_epochs 1 --deepspeed ds.json\n"
)
ADAM = '{"optimizer": {"type": "AdamW"}, "train_micro_batch_size_per_gpu": "auto"%s}'


@pytest.mark.parametrize(
    "release, schedule, expected",
    [
        ("4.30.2", "", True),
        ("4.33.0", "", True),
        ("4.29.2", "", False),
        ("4.34.1", "", False),
        ("", "", False),
        (
            "4.30.2",
            ', "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}}',
            False,
        ),
    ],
)
def test_an_optimizer_without_its_schedule(
    release: str, schedule: str, expected: bool, capsys: Captured
) -> None:
    run = HF.format(f"pip install transformers=={release}\n" if release else "")
    assert said(capsys, "PAR475", run_sh=run, ds_json=ADAM % schedule) == expected


FACTORY_RUN = (
    "python src/train_bash.py --stage sft --finetuning_type lora --output_dir o "
    "--per_device_train_batch_size 1 --learning_rate 1e-5 --do_train --num_train_epochs 1 {}\n"
)


@pytest.mark.parametrize(
    "options, expected",
    [
        ("--checkpoint_dir a --resume_lora_training False --quantization_bit 8", True),
        ("--checkpoint_dir a --resume_lora_training True --quantization_bit 8", False),
        ("--checkpoint_dir a --quantization_bit 8", False),
        ("--checkpoint_dir a --resume_lora_training False", False),
        ("--resume_lora_training False --quantization_bit 8", False),
    ],
)
def test_a_new_adapter_on_a_quantised_model(options: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR474", run_sh=FACTORY_RUN.format(options)) == expected


OF_NODE = (
    "srun -N1 -n1 torchrun --nproc_per_node 8 --nnodes 2 --node_rank {} --master_addr $H train.py"
)
NODE_0, NODE_1 = OF_NODE.format(0), OF_NODE.format(1)
TWO_NODE_JOB = (
    "#!/bin/bash\n#SBATCH --nodes=2\nH=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)\n"
)


@pytest.mark.parametrize(
    "lines, expected",
    {
        "one after the other": (f"{NODE_0}\n{NODE_1}\n", True),
        "a log of each": (f"{NODE_0} | tee a.log\n{NODE_1} | tee b.log\n", True),
        "a host that is written": (f"{NODE_0}\n{NODE_1}\n".replace("$H", "node1"), True),
        "both behind the script": (f"{NODE_0} &\n{NODE_1} &\nwait\n", False),
        "the last one in the foreground": (f"{NODE_0} &\n{NODE_1}\n", False),
        "one of them": (f"if [[ $SLURM_NODEID ]]; then\n  {NODE_0}\nelse\n  {NODE_1}\nfi\n", False),
        "two jobs": (f"{NODE_0} --master_port 1\n{NODE_1}\n".replace("$H", "a", 1), False),
        "one node again": (f"{NODE_0}\n{NODE_0} --more\n", False),
    }.values(),
)  # fmt: skip
def test_launches_that_wait(lines: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR685", job_sh=TWO_NODE_JOB + lines) == expected


RUN = "torchrun --nproc_per_node 8 train.py"
INTO_TEE = f"{RUN} 2>&1 | tee log"


@pytest.mark.parametrize(
    "lines, expected",
    {
        "tested below": (f"{INTO_TEE}\nif [ $? -ne 0 ]; then echo bad; fi\n", ["error"]),
        "kept below": (f"{INTO_TEE}\n# the code\ncode=$?\nexit $code\n", ["error"]),
        "another way": (f"{INTO_TEE} || scontrol requeue $SLURM_JOB_ID\n", ["error"]),
        "the last command": (f"{INTO_TEE}\n", ["info"]),
        "passed on": (f"set -eo pipefail\n{INTO_TEE}\ncode=$?\n", []),
        "asked for": (f"{INTO_TEE}\ncode=${{PIPESTATUS[0]}}\n", []),
        "another command's": (f"{INTO_TEE}\nwait\ncode=$?\n", []),
        "no training": ("ls | tee log\ncode=$?\ntorchrun --nproc_per_node 8 train.py\n", []),
        "a command in a variable": (f'X="{RUN}"\neval $X |& tee log || exit 1\n', ["error"]),
        "no pipe behind it": (f'X="{RUN}"\neval $X || exit 1\n', []),
        "a condition": (f"if ! {INTO_TEE}; then scontrol requeue 1; fi\n", ["error"]),
        "a text that is read": (f"if {RUN} | awk '/nan/{{exit 1}}'; then echo; fi\n", []),
        "a function": (f"run() {{\n  {RUN}\n}}\nrun | tee log\nexit $?\n", ["error"]),
        "a block": (f"{{ date; {RUN}; }} | tee log && touch done\n", ["error"]),
        "ends at errors": (f"set -e\n{INTO_TEE}\necho done\n", ["info"]),
        "ends at errors, with others": (f"set -x -ue\n{INTO_TEE}\ntouch done\n", ["info"]),
        "ends no more": (f"set -e\nls\nset +e\n{INTO_TEE}\necho done\n", []),
        "ends, and is the last": (f"set -e\n{INTO_TEE}\n", ["info"]),
        "ends, and the log is read": (f"set -e\n{INTO_TEE}\npython check.py log\n", []),
        "ends, in a test": (f"set -e\nif true; then\n{INTO_TEE}\nfi\necho done\n", []),
        "a search that may fail": (f"{INTO_TEE} | grep -q done || exit 1\n", []),
    }.values(),
)  # fmt: skip
def test_exit_codes_behind_a_pipe(lines: str, expected: list[str], capsys: Captured) -> None:
    Path("run.sh").write_text(f"#!/bin/bash\n{lines}")
    found = [each for each in findings(capsys, ".") if each["code"] == "PAR814"]
    assert [each["severity"] for each in found] == expected

"""Values that DeepSpeed, accelerate, torchtitan and Megatron-core stop for are errors; what they take is
none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from parc.__main__ import main as parc
from tests.support.linted import Captured, findings

PINS = (
    "transformers==5.23.0\naccelerate==1.15.0\ndeepspeed==0.19.8\ntorchtitan==0.2.2\n"
    "megatron-core==0.19.2\n"
)
PROGRAM = """
from transformers import HfArgumentParser, TrainingArguments
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
"""
TRAIN = (
    "train.py --output_dir out --per_device_train_batch_size 4 --max_steps 9 --learning_rate 1e-5 "
    "--gradient_accumulation_steps 1"
)
CONFIG: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_clipping": 1.0,
    "wall_clock_breakdown": False,
    "zero_optimization": {
        "stage": 2,
        "allgather_bucket_size": 200_000_000,
        "reduce_bucket_size": 200_000_000,
        "sub_group_size": 1_000_000_000,
    },
    "fp16": {"enabled": True, "loss_scale": 0, "loss_scale_window": 1000},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 0}},
}
ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  gradient_clipping: 1.0
  zero_stage: 2
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""
FSDP = ACCELERATE.replace(
    "DEEPSPEED\ndeepspeed_config:", "FSDP\nfsdp_config:\n  fsdp_version: 1"
).replace("  gradient_clipping: 1.0\n  zero_stage: 2\n", "")
TOML = """[model]
name = "llama3"
flavor = "8B"
hf_assets_path = "assets"
[optimizer]
lr = 3e-4
beta1 = 0.9
[training]
dataset = "c4"
local_batch_size = 1
steps = 10
seq_len = 4096
[parallelism]
tensor_parallel_degree = 2
expert_tensor_parallel_degree = 1
"""


@pytest.fixture(autouse=True)
def project() -> None:
    for name in ("good.sh", "bad.sh"):
        Path(name).unlink(missing_ok=True)
    Path("requirements.txt").write_text(PINS)
    Path("train.py").write_text(PROGRAM)


def errors(capsys: Captured) -> list[str]:
    return [str(each["code"]) for each in findings(capsys, ".") if each["severity"] == "error"]


def changed(path: str, value: object) -> str:
    """The DeepSpeed config with one other value."""
    config = json.loads(json.dumps(CONFIG))
    *sections, key = path.split(".")
    inner = config
    for section in sections:
        inner = inner[section]
    inner[key] = value
    return json.dumps(config, indent=1)


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("zero_optimization.allgather_bucket_size", 5, "PAR416"),
        ("zero_optimization.allgather_bucket_size", 6, ""),
        ("zero_optimization.reduce_bucket_size", 0, "PAR416"),
        ("zero_optimization.sub_group_size", 0, ""),
        ("zero_optimization.sub_group_size", -1, "PAR416"),
        ("zero_optimization.sub_group_size", "1e9", "PAR416"),
        ("zero_optimization.sub_group_size", "1000", ""),
        ("fp16.loss_scale_window", 0, "PAR416"),
        ("gradient_clipping", "1.0", "PAR404"),
        ("train_micro_batch_size_per_gpu", "4", "PAR404"),
        ("wall_clock_breakdown", "false", "PAR404"),
        ("scheduler.params.warmup_min_lr", "0", "PAR404"),
        ("zero_optimization.stage", "2", ""),
        ("scheduler.params.warmup_steps", 0, "PAR403"),
        ("prescale_gradients", True, "PAR303"),
        ("prescale_gradients", False, ""),
    ],
)
@pytest.mark.parametrize("written", [False, True])
def test_a_value_of_deepspeed(
    path: str, value: object, code: str, written: bool, capsys: Captured
) -> None:
    """In a file, and in one that the script writes."""
    config = changed(path, value)
    launch = f"deepspeed --num_gpus 8 {TRAIN} --fp16 --warmup_steps 0 --deepspeed ds.json\n"
    Path("ds.json").write_text("" if written else config)
    before = f"cat > ds.json <<'JSON'\n{config}\nJSON\n" if written else ""
    if written:
        Path("ds.json").unlink()
    Path("run.sh").write_text(before + launch)
    assert errors(capsys) == ([code] if code else [])


def test_zero_passes_where_the_release_takes_it(capsys: Captured) -> None:
    Path("requirements.txt").write_text(PINS.replace("0.19.8", "0.18.4"))
    Path("ds.json").write_text(changed("zero_optimization.reduce_bucket_size", 0))
    Path("run.sh").write_text(f"deepspeed --num_gpus 8 {TRAIN} --fp16 --deepspeed ds.json\n")
    assert errors(capsys) == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"train_batch_size": 8, ""fp16": {}}', True),
        ('{"train_batch_size": 8, $EXTRA}', False),
        ('{"train_batch_size": 8, "fp16": {}}', False),
    ],
)
def test_a_config_of_a_heredoc_that_cannot_be_parsed(
    config: str, said: bool, capsys: Captured
) -> None:
    """One with an unknown part may be whole once it is written."""
    launch = "deepspeed --num_gpus 8 own.py --deepspeed_config ds.json"
    Path("run.sh").write_text(f"cat > ds.json <<JSON\n{config}\nJSON\n{launch}\n")
    assert ("PAR807" in errors(capsys)) is said


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ACCELERATE, ""),
        (ACCELERATE.replace("clipping: 1.0", "clipping: 0.5"), "PAR207"),
        (ACCELERATE.replace("LOCAL_MACHINE", "LOCAL"), "PAR491"),
        (ACCELERATE.replace("type: DEEPSPEED", "type: DEEPSPED"), "PAR491"),
        (ACCELERATE.replace("type: DEEPSPEED", "type: 7"), ""),
        (FSDP, ""),
        (FSDP.replace("version: 1", "version: 3"), "PAR491"),
        (FSDP.replace("version: 1", "version: 2"), ""),
    ],
)
def test_a_value_of_accelerate(text: str, code: str, capsys: Captured) -> None:
    Path("accelerate.yaml").write_text(text)
    Path("run.sh").write_text(f"accelerate launch --config_file accelerate.yaml {TRAIN} --bf16\n")
    assert errors(capsys) == ([code] if code else [])


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("", "", ""),
        ('name = "llama3"', "name = 3", "PAR366"),
        ('name = "llama3"', 'name = "lama3"', "PAR366"),
        ('flavor = "8B"', 'flavor = "9B"', "PAR366"),
        ('dataset = "c4"', 'dataset = "C4"', ""),
        ('dataset = "c4"', 'dataset = "c5"', "PAR366"),
        ("lr = 3e-4", 'lr = "3e-4"', "PAR366"),
        ("beta1 = 0.9", "beta1 = 1.0", "PAR366"),
        ("beta1 = 0.9", "beta1 = 0", ""),
        ("steps = 10", 'steps = 10\ngc_freq = "many"', "PAR366"),
        ("steps = 10", "steps = 10\ngc_freq = 0", "PAR366"),
        ("steps = 10", "steps = 10\ngc_freq = 7", ""),
        ('dataset = "c4"', "dataset = 7", "PAR366"),
        ('hf_assets_path = "assets"', "hf_assets_path = true", "PAR366"),
        ("expert_tensor_parallel_degree = 1", "expert_tensor_parallel_degree = 3", "PAR103"),
        ("expert_tensor_parallel_degree = 1", "expert_tensor_parallel_degree = 4", ""),
    ],
)
def test_a_value_of_torchtitan(old: str, new: str, code: str, capsys: Captured) -> None:
    Path("train.toml").write_text(TOML.replace(old, new) if old else TOML)
    Path("run.sh").write_text(
        "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file train.toml\n"
    )
    assert errors(capsys) == ([code] if code else [])


def test_an_option_goes_before_the_file(capsys: Captured) -> None:
    """A value that the command replaces is not judged, and the one that it gives is."""
    launch = "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file train.toml"
    Path("train.toml").write_text(TOML.replace("lr = 3e-4", "lr = -1"))
    Path("run.sh").write_text(f"{launch} --optimizer.lr 3e-4\n")
    assert errors(capsys) == []
    Path("run.sh").write_text(f"{launch} --optimizer.lr -2\n")
    assert errors(capsys) == ["PAR366"]


def test_a_module_of_the_job_registers_more(capsys: Captured) -> None:
    text = TOML.replace('"8B"', '"mine"').replace('"c4"', '"texts"')
    Path("train.toml").write_text(text + '[experimental]\ncustom_import = "own"\n')
    Path("run.sh").write_text(
        "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file train.toml\n"
    )
    Path("own.py").write_text('import own_data\nMODELS = {"mine": None}\n')
    Path("own_data.py").write_text('DATASETS["texts"] = None\nDATASETS[NAME] = None\n')
    assert errors(capsys) == []
    toml = Path("train.toml").read_text()
    Path("train.toml").write_text(toml.replace('"texts"', '"blend"'))
    assert errors(capsys) == []
    Path("train.toml").write_text(toml.replace('"texts"', '"textss"'))
    assert errors(capsys) == ["PAR366"]
    Path("train.toml").write_text(toml.replace('"texts"', "7"))
    assert errors(capsys) == []
    Path("own_data.py").write_text("")
    assert "PAR366" in errors(capsys)


MEGATRON = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --bf16 "
    "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --train-iters 9 --lr 1e-4 "
    "--micro-batch-size 1 --global-batch-size 8 --tensor-model-parallel-size 2 --mock-data "
)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("", ""),
        ("--position-embedding-type mrope", "PAR303"),
        ("--position-embedding-type mrope --mrope-section 16 24 24", ""),
        ("--tensor-parallel-num-weight-shards 3", "PAR331"),
        ("--tensor-parallel-num-weight-shards 4", ""),
        ("--expert-tensor-parallel-size 3", "PAR102"),
        ("--expert-tensor-parallel-size 4", ""),
        ("--num-experts 8 --moe-enable-deepep", "PAR303"),
        ("--num-experts 8 --moe-enable-deepep --moe-token-dispatcher-type flex", ""),
        ("--num-experts 8 --moe-router-enable-expert-bias", "PAR303"),
        (
            "--num-experts 8 --moe-router-enable-expert-bias --moe-router-score-function sigmoid",
            "",
        ),
    ],
)
def test_an_option_of_megatron(options: str, code: str, capsys: Captured) -> None:
    Path("run.sh").write_text(f"{MEGATRON}{options}\n")
    found = [each for each in errors(capsys) if each in ("PAR303", "PAR331", "PAR102")]
    assert found == ([code] if code else [])


def test_an_option_that_the_job_says_is_not_lost(capsys: Captured) -> None:
    Path("train.toml").write_text(TOML)
    command = (
        "-m torchtitan.train --job.config_file train.toml --training.steps 77 --metrics.log_freq 5"
    )
    Path("run.sh").write_text(f"torchrun --nproc_per_node 8 {command}\n")
    assert parc(["import", "run.sh"]) in (0, 1)
    printed = capsys.readouterr()
    assert re.search(r"steps += 77", printed.out) and re.search(r"log_interval += 5", printed.out)
    assert "training.steps" not in printed.out + printed.err

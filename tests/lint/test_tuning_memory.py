"""Files of trainers on a named cluster: the memory of a full fine-tuning, or why it is not judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.linted import Captured, lint

RUN = (
    "torchrun --nproc-per-node 8 {program} --model_name_or_path {model} --output_dir out "
    "--per_device_train_batch_size 1 --learning_rate 1e-5 --bf16 True "
)
LONG = RUN + "--gradient_checkpointing True --model_max_length 4096 "
SHARDED = "--fsdp full_shard"
ZERO = """{{"bf16": {{"enabled": true}}, "zero_optimization": {{"stage": {}}},
 "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}}
"""
AXOLOTL = """base_model: {model}
micro_batch_size: 1
sequence_len: 8192
bf16: auto
gradient_checkpointing: true
learning_rate: 1e-5
output_dir: out
deepspeed: ds.json
"""
FACTORY = """model_name_or_path: {model}
stage: sft
finetuning_type: full
deepspeed: ds.json
dataset: alpaca
template: llama3
cutoff_len: 2048
per_device_train_batch_size: 1
learning_rate: 1.0e-5
output_dir: out
bf16: true
"""
ACCELERATE = """distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def said(capsys: Captured, files: dict[str, str], cluster: str = "std.dgx_h100") -> str:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    lint(next(iter(files)), "--cluster", cluster, "--select", "PAR511")
    return capsys.readouterr().out


def script(line: str, program: str = "run_clm.py", model: str = "Qwen/Qwen3-8B") -> str:
    return line.format(program=program, model=model) + "\n"


#: Files, and what is said: the model with its source and the help, or "" where it fits.
JUDGED = (
    ({"a.sh": script(LONG + SHARDED, model="meta-llama/Llama-3.1-70B-Instruct")}, "std.llama3_1_70b"),
    ({"a.sh": script(LONG + SHARDED, model="Qwen/Qwen3-8B")}, ""),
    ({"a.sh": script(LONG + "--deepspeed d.json", model="Qwen/Qwen3-30B-A3B"), "d.json": ZERO.format(2)},
     "std.qwen3_30b_a3b"),
    ({"a.sh": script(LONG + "--deepspeed d.json", model="Qwen/Qwen3-14B"), "d.json": ZERO.format(1)},
     "std.qwen3_14b"),
    ({"a.yaml": AXOLOTL.format(model="Qwen/Qwen3-32B"), "ds.json": ZERO.format(2)}, "std.qwen3_32b"),
    ({"a.yaml": FACTORY.format(model="unsloth/Meta-Llama-3.1-8B"), "ds.json": ZERO.format(3)}, ""),
    ({"a.sh": "accelerate launch --config_file acc.yaml "
      + script(LONG, model="/data/Qwen2.5-72B-Instruct").partition("8 ")[2], "acc.yaml": ACCELERATE},
     "std.qwen2_5_72b"),
)  # fmt: skip
#: Files, and why their memory is not judged.
OPEN = (
    ({"a.sh": script(LONG + SHARDED + " --use_peft True")}, "`use_peft: True` does not train all weights"),
    ({"a.sh": script(LONG + SHARDED, "train.py")}, "whether `train.py` trains all weights is unknown"),
    ({"a.sh": script(LONG + SHARDED, "train.py"), "train.py": "from peft import LoraConfig\n"},
     "`train.py` may train adapters"),
    ({"a.sh": script(LONG + SHARDED, "dpo.py")}, "`dpo.py` (dpo) needs more than one model"),
    ({"a.sh": script(LONG + SHARDED + " --optim adamw_bnb_8bit")},
     "`optim: adamw_bnb_8bit` is not AdamW in fp32"),
    ({"a.sh": script(LONG + SHARDED, model="unsloth/Qwen3-8B-bnb-4bit")}, "has quantised weights"),
    ({"a.sh": script(LONG + SHARDED, model="acme/unheard-of")},
     "nobody here knows the shape of `acme/unheard-of`"),
    ({"a.sh": script(LONG)}, "neither DeepSpeed nor FSDP shards it"),
    ({"a.sh": script(RUN + SHARDED)}, "the sequence length is unknown"),
    ({"a.yaml": AXOLOTL.format(model="Qwen/Qwen3-8B") + "adapter: lora\n", "ds.json": ZERO.format(2)},
     "`adapter: lora` does not train all weights"),
    ({"a.yaml": FACTORY.format(model="Qwen/Qwen3-8B").replace("finetuning_type: full\n", ""),
      "ds.json": ZERO.format(2)}, "LLaMA-Factory trains LoRA where finetuning_type is not stated"),
    ({"a.yaml": FACTORY.format(model="Qwen/Qwen3-8B")}, "the ZeRO stage of `ds.json` is unknown"),
)  # fmt: skip


def test_full_tuning_is_judged(capsys: Captured) -> None:
    for number, (files, source) in enumerate(JUDGED):
        Path(str(number)).mkdir()
        placed = {f"{number}/{name}": text for name, text in files.items()}
        printed = said(capsys, placed)
        assert "not judged" not in printed, (files, printed)
        assert ("PAR511" in printed) == bool(source), (files, printed)
        assert not source or f"all weights of {source} train on 8 GPUs" in printed, printed


def test_what_is_not_judged_is_said_with_its_reason(capsys: Captured) -> None:
    for number, (files, reason) in enumerate(OPEN):
        placed = {f"{number}/{name}": text for name, text in files.items()}
        printed = said(capsys, placed)
        assert "PAR511" not in printed and "memory not judged: " in printed, (files, printed)
        assert reason in printed.rpartition("memory not judged: ")[2], (files, printed)


def test_states_alone_run_out_whatever_the_length_is(capsys: Captured) -> None:
    printed = said(capsys, {"a.sh": script(RUN + SHARDED, model="Qwen/Qwen2.5-72B")})
    assert "predicted at least" in printed
    assert "the shortest samples, since the sequence length is unknown" in printed


def test_a_config_json_of_the_repository_goes_before_the_library(capsys: Captured) -> None:
    small = {
        "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
        "intermediate_size": 512, "vocab_size": 1024,
    }  # fmt: skip
    files = {"a.sh": script(LONG + SHARDED, model="models/Qwen2.5-72B")}
    assert "nobody here knows" in said(capsys, files)
    files["models/Qwen2.5-72B/config.json"] = json.dumps(small)
    assert "no findings" in said(capsys, files) and "not judged" not in said(capsys, files)


def test_states_are_sixteen_bytes_a_parameter(capsys: Captured) -> None:
    """FSDP and ZeRO 3 alike: weights, gradients, master copy and two moments, over eight GPUs."""
    for more in (SHARDED, "--deepspeed d.json"):
        files = {"a.sh": script(LONG + more, model="Qwen/Qwen2.5-72B"), "d.json": ZERO.format(3)}
        printed = said(capsys, files)
        parts = re.findall(r"(?:optimizer|gradients|weights) ([\d.]+)", printed)
        assert len(parts) == 3, printed
        states = sum(map(float, parts))
        assert states == pytest.approx(16 * 72_706_203_648 / 8 / 2**30, rel=0.03)

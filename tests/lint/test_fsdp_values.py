"""PAR467 on the Trainer's `fsdp_config`: what Transformers 5.23 said of each value when it was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

PROGRAM = """
from transformers import HfArgumentParser, TrainingArguments
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
"""
RUN = (
    "torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 4 "
    "--learning_rate 1e-5"
)
STOPS: list[Mapping[str, object]] = [
    {"activation_checkpointing": 3},
    {"fsdp_activation_checkpointing": None},
    {"cpu_ram_efficient_loading": "many"},
    {"reshard_after_forward": "full_shard"},
    {"reshard_after_forward": True, "version": 1},
    {"version": "two"},
    {"version": None},
    {"auto_wrap_policy": "no_wrap"},
    {"transformer_layer_cls_to_wrap": 1},
    {"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer", 1]},
    {"auto_wrap_policy": "SIZE_BASED_WRAP", "min_num_params": "3"},
    {"auto_wrap_policy": "SIZE_BASED_WRAP", "min_num_params": 1e8},
    {"state_dict_type": "WHOLE"},
    {"state_dict_type": "LOCAL_STATE_DICT"},
    {"limit_all_gathers": 3, "version": 1},
    {"backward_prefetch": 1, "version": "1"},
    {"sync_module_states": "maybe", "version": 1},
]
STARTS: list[Mapping[str, object]] = [
    {"activation_checkpointing": "Yes"},
    {"activation_checkpointing": 1},
    {"limit_all_gathers": 3},
    {"backward_prefetch": 1},
    {"reshard_after_forward": "shard_grad_op", "version": 1},
    {"reshard_after_forward": 3, "version": 1},
    {"min_num_params": "3"},
    {"transformer_layer_cls_to_wrap": "LlamaDecoderLayer"},
    {"transformer_layer_cls_to_wrap": None},
    {"auto_wrap_policy": "SIZE_BASED_WRAP", "min_num_params": 100},
    {"state_dict_type": "sharded_state_dict"},
    {"state_dict_type": None},
    {"nonesuch": 3},
    {"activation_checkpointing": 3, "xla": True},
]


def said(
    capsys: Captured, config: object, *, fsdp: str = "full_shard", pin: str = "5.23.0"
) -> object:
    """The levels at which the value is complained of, of a file; as a text where it is one already."""
    Path("train.py").write_text(PROGRAM)
    Path("requirements.txt").write_text(f"transformers=={pin}\n")
    inline = isinstance(config, str)
    Path("fsdp.json").write_text("" if inline else json.dumps(config))
    named = f"'{config}'" if inline else "fsdp.json"
    Path("run.sh").write_text(f'{RUN} --fsdp "{fsdp}" --fsdp_config {named}\n')
    found = findings(capsys, "run.sh", "--select", "PAR467")
    return [each["severity"] for each in found]


@pytest.mark.parametrize("config", STOPS, ids=json.dumps)
def test_what_stops_is_an_error(config: Mapping[str, object], capsys: Captured) -> None:
    assert said(capsys, config) == ["error"]
    assert said(capsys, json.dumps(config)) == ["error"]


@pytest.mark.parametrize("config", STARTS, ids=json.dumps)
def test_what_starts_passes(config: Mapping[str, object], capsys: Captured) -> None:
    assert said(capsys, config) == []


def test_a_release_that_nobody_asked_is_no_error(capsys: Captured) -> None:
    assert said(capsys, STOPS[0], pin="4.57.6") == []


def test_without_fsdp_nothing_is_read(capsys: Captured) -> None:
    assert said(capsys, STOPS[0], fsdp="") == []

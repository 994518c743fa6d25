"""Recorded launches of a program of Hugging Face's Trainer -> what its start makes of them, without a GPU.

A case holds the `launcher_name` and its `launcher` words, the `program` with its arguments, the
`environment`, the `world` and the `folder` that it runs in. accelerate's own parser and configuration
read a launch of it; then the program runs with a narrow model and drawn tokens until the Trainer begins
its first step: transformers, accelerate and DeepSpeed have made of their settings what they make on
GPUs.

Stood in for, so not proven: the GPUs, their kernels, collectives (PyTorch's fake process group), the weights.
"""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import suppress
from typing import Any

import deepspeed_probe
import forked
import torch
import transformers
from accelerate import state as accelerate_state
from accelerate.commands import launch
from accelerate.utils import dataclasses
from accelerate.utils import launch as launch_environment
from torch.distributed.fsdp import _init_utils
from torch.testing._internal.distributed.fake_pg import FakeStore
from transformers import training_args


class Begun(Exception):
    """Raised by the first step."""


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    os.chdir(case["folder"])
    deepspeed_probe.stand_ins()
    stand_ins()
    os.environ.update(case["environment"])
    if case["launcher_name"] == "accelerate":
        answer["stage"] = "launcher"
        case["world"] = launched(case["launcher"][1:], case["program"])
    answer["stage"] = "program"
    rank = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(case["world"])}
    os.environ.update(rank, MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    torch.distributed.init_process_group(
        "fake", store=FakeStore(), rank=0, world_size=case["world"]
    )
    sys.argv = list(case["program"])
    with suppress(Begun):
        runpy.run_path(case["program"][0], run_name="__main__")
    answer["stage"] = "accepted"


def launched(words: list[str], program: list[str]) -> int:
    """accelerate's reading of its arguments and file into the environment of the program; the processes."""
    parser = launch.launch_command_parser()
    args = parser.parse_args([*words, *program])
    args, defaults, _ = launch._validate_launch_command(args)
    if args.use_deepspeed:
        named = list(defaults.deepspeed_config) if defaults else []
        args.deepspeed_fields_from_accelerate_config = ",".join(named)
        _, environment = launch_environment.prepare_deepspeed_cmd_env(args)
    elif args.use_fsdp or args.multi_gpu or args.use_megatron_lm:
        environment = launch_environment.prepare_multi_gpu_env(args)
    else:
        _, environment = launch_environment.prepare_simple_launcher_cmd_env(args)
    os.environ.update(environment)
    return int(args.num_processes)


def stand_ins() -> None:
    """A GPU that knows bf16 and tf32, a narrow model, tokens, and a step that is not taken."""
    for module in (training_args,):
        module.is_torch_bf16_gpu_available = lambda: True
        module.is_torch_tf32_available = lambda: True
    for name in ("is_bf16_available", "is_fp16_available"):
        if hasattr(accelerate_state, name):
            setattr(accelerate_state, name, lambda *arguments, **named: True)
    distributed = accelerate_state.DistributedType.MULTI_GPU
    accelerate_state.PartialState._prepare_backend = lambda *_, **__: ("nccl", distributed)
    accelerate_state.PartialState.set_device = on_cpu
    dataclasses.is_cuda_available = lambda *arguments, **named: True
    torch.cuda.current_device = lambda: "cpu"
    _init_utils._sync_module_params_and_buffers = lambda *arguments: None
    torch.nn.parallel.DistributedDataParallel = Unwrapped
    transformers.AutoModelForCausalLM.from_pretrained = narrow
    begin = transformers.Trainer.__init__

    def with_tokens(self: Any, *arguments: Any, **named: Any) -> None:
        begin(self, *arguments, **named | {"train_dataset": Tokens()})

    transformers.Trainer.__init__ = with_tokens
    transformers.Trainer.training_step = first_step


def on_cpu(state: Any) -> None:
    state.device = torch.device("cpu")


def first_step(*arguments: Any, **named: Any) -> None:
    raise Begun


def narrow(*arguments: Any, **named: Any) -> Any:
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        vocab_size=256,
    )
    return transformers.LlamaForCausalLM(config)


class Unwrapped(torch.nn.parallel.DistributedDataParallel):
    """The model itself: a replica asks for one device of all."""

    def __new__(cls, model: Any, *arguments: Any, **named: Any) -> Any:
        return model


class Tokens(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = torch.arange(16)
        return {"input_ids": ids, "labels": ids}


if __name__ == "__main__":
    forked.main(check)

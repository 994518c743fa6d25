"""Options of emitted scripts -> the loss and gradients of Megatron-LM's own model, in fp32 on a CPU.

A case holds `arguments` (of pretrain_gpt.py), `converter` (the emitted convert.py, whose names of weights are
used) and `folder` (of transformers' checkpoint, gradients and tokens). Arguments, their checks, configuration
and the model are Megatron-LM's; what stands in for its kernels is in backends/megatron/on_cpu.py.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import forked

TREE = Path(__file__).resolve().parents[3]
sys.path.append(str(TREE / "smoke" / "on_cpu"))
ON_CPU = runpy.run_path(str(TREE / "backends" / "megatron" / "on_cpu.py"))
os.environ |= {ON_CPU["CAPABILITY"]: "90", "NO_VCS_VERSION": "1", "TORCHDYNAMO_DISABLE": "1"}
with ON_CPU["stand_ins"]():
    import megatron.core  # noqa: F401

import torch  # noqa: E402
from megatron.core.process_groups_config import ProcessGroupCollection  # noqa: E402
from megatron.core.utils import unwrap_model  # noqa: E402
from megatron.training import arguments as megatron_arguments  # noqa: E402
from megatron.training import training  # noqa: E402
from megatron.training.argument_utils import gpt_config_from_args  # noqa: E402
from megatron.training.models.gpt import GPTModelBuilder  # noqa: E402

#: Options of 16-bit training, which fp32 leaves out; the fused loss rounds its gradient to bf16
#: (core/fusions/fused_cross_entropy.py:82).
HALF = {
    "--bf16", "--fp16", "--accumulate-allreduce-grads-in-fp32", "--cross-entropy-loss-fusion",
}  # fmt: skip
#: Gradients smaller than this share of the largest one are compared with that share.
LEAST = 1e-3


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    args = _begun(case)
    answer["stage"] = "build"
    groups = ProcessGroupCollection.use_mpu_process_groups()
    built = GPTModelBuilder(gpt_config_from_args(args)).build_distributed_models(
        pg_collection=groups, wrap_with_ddp=False
    )
    (model,) = unwrap_model(built)
    converter = runpy.run_path(case["converter"])
    folder = Path(case["folder"])
    answer["stage"] = "weights"
    left = converter["fill"]([model], converter["Checkpoint"](folder / "checkpoint"), args)
    assert not left, left
    answer["stage"] = "loss"
    loss = _loss(model, torch.load(folder / "tokens.pt"))
    loss.backward()
    answer["loss"] = loss.item()
    answer["stage"] = "gradients"
    gradients = converter["Checkpoint"](folder / "gradients")
    answer["deviation"] = _deviations(model, converter["value"], gradients, args)
    answer["stage"] = "compared"


def _begun(case: dict[str, Any]) -> Any:
    """Arguments as Megatron-LM parses and checks them, and a world of one process, which it finds begun: a
    port that is free now another probe may take meanwhile."""
    os.environ |= {"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    sys.argv = ["pretrain_gpt.py", *(word for word in case["arguments"] if word not in HALF)]
    args = megatron_arguments.parse_and_validate_args(
        args_defaults={"tokenizer_type": "GPT2BPETokenizer"}
    )
    training.initialize_megatron()
    return args


def _loss(model: Any, tokens: Any) -> Any:
    inputs, labels = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    positions = torch.arange(inputs.shape[1]).expand_as(inputs)
    return model.train()(inputs, positions, None, labels=labels).float().mean()


def _deviations(model: Any, value: Any, gradients: Any, args: Any) -> dict[str, float]:
    """The largest of each parameter, relative to the largest entry of transformers' gradient."""
    wanted = {
        name: (weight, value(name, gradients, args)) for name, weight in model.named_parameters()
    }
    floor = LEAST * max(gradient.abs().max().item() for _, gradient in wanted.values())
    return {
        name: float((weight.grad - gradient).abs().max() / max(gradient.abs().max().item(), floor))
        for name, (weight, gradient) in wanted.items()
    }


if __name__ == "__main__":
    forked.main(check)

"""Options of emitted scripts -> bytes of each tensor that the layers of Megatron-LM's own model keep for
their backward pass, in bf16 on a CPU, and the norms of all gradients.

A case holds `arguments` (of pretrain_gpt.py), `batch` and `tokens`. Kept are the tensors that autograd has
saved once the forward pass has ended, each storage once and the weights not. Norms, attention and the
grouped products of experts are one kernel each in Transformer Engine, which saves what it reads; so do the
stand-ins here.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any

import forked
import megatron_forward_probe as forward
import torch
from megatron.core.models.backends import LocalSpecProvider
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer.dot_product_attention import DotProductAttention
from megatron.core.transformer.moe import experts
from megatron.core.transformer.torch_norm import WrappedTorchNorm
from megatron.core.utils import unwrap_model
from megatron.training.argument_utils import gpt_config_from_args
from megatron.training.models.gpt import GPTModelBuilder


class OneKernel(torch.autograd.Function):
    """A function of tensors that saves these alone."""

    @staticmethod
    def forward(context: Any, function: Callable[..., Any], *read: Any) -> Any:
        context.function = function
        context.save_for_backward(*read)
        return function(*read)

    @staticmethod
    def backward(context: Any, gradient: Any) -> tuple[Any, ...]:
        read = [tensor.detach().requires_grad_() for tensor in context.saved_tensors]
        with torch.enable_grad():
            made = context.function(*read)
        return None, *torch.autograd.grad(made, read, gradient)


class Norm(torch.nn.RMSNorm):
    def forward(self, read: Any) -> Any:
        normed = partial(torch.nn.functional.rms_norm, normalized_shape=read.shape[-1:])
        return OneKernel.apply(lambda x, weight: normed(x, weight=weight), read, self.weight)


class GroupedProducts(torch.nn.Module):
    """The products of all experts of a rank, over their tokens in order."""

    def __init__(self, groups: int, inputs: int, outputs: int, config: Any, **named: Any) -> None:
        super().__init__()
        shape = (groups, outputs, inputs)
        self.weight = torch.nn.Parameter(torch.randn(shape, dtype=config.params_dtype))

    def forward(self, tokens: Any, counts: list[int]) -> tuple[Any, None]:
        def products(tokens: Any, weight: Any) -> Any:
            parts = zip(tokens.split(counts), weight, strict=True)
            return torch.cat([part @ each.T for part, each in parts])

        return OneKernel.apply(products, tokens, self.weight), None


def stand_ins() -> None:
    forward.HALF.clear()
    forward.ON_CPU["WITHOUT_KERNELS"]["moe_grouped_gemm"] = True
    products = types.SimpleNamespace(
        linear_fc1=GroupedProducts, linear_fc2=GroupedProducts, activation_func=None
    )
    grouped = partial(experts.TEGroupedMLP, submodules=products)
    LocalSpecProvider.grouped_mlp_modules = lambda self, moe_use_grouped_gemm: grouped
    WrappedTorchNorm.__new__ = lambda cls, config, hidden_size, eps=1e-5, **named: Norm(
        hidden_size, eps, dtype=config.params_dtype
    )
    attend = DotProductAttention.forward
    DotProductAttention.forward = lambda self, query, key, value, *rest, **named: OneKernel.apply(
        partial(attend, self), query, key, value
    )


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    stand_ins()
    args = forward._begun(case)
    answer["modules"] = args.recompute_modules
    answer["stage"] = "build"
    groups = ProcessGroupCollection.use_mpu_process_groups()
    built = GPTModelBuilder(gpt_config_from_args(args)).build_distributed_models(
        pg_collection=groups, wrap_with_ddp=False
    )
    (model,) = unwrap_model(built)
    answer["stage"] = "forward"
    saved = _saved_by(model.decoder)
    torch.manual_seed(1)
    tokens = torch.randint(0, 100, (case["batch"], case["tokens"] + 1))
    loss = forward._loss(model, tokens)
    weights = {weight.untyped_storage()._cdata for weight in model.parameters()}
    answer["kept"] = [storage.nbytes() for name, storage in saved.items() if name not in weights]
    answer["stage"] = "backward"
    loss.backward()
    answer["gradients"] = [weight.grad.float().norm().item() for weight in model.parameters()]
    answer["stage"] = "counted"


def _saved_by(module: Any) -> dict[int, Any]:
    """Storages that the module's forward pass will have saved, by their identity."""
    storages: dict[int, Any] = {}
    run = module.forward

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        storages[storage._cdata] = storage
        return tensor

    def watched(*arguments: Any, **named: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            return run(*arguments, **named)

    module.forward = watched
    return storages


if __name__ == "__main__":
    forked.main(check)

"""Replacements with which Megatron-LM's pretrain_gpt.py trains without a GPU: in memory, no file is edited.

`stand_ins` surrounds the import of megatron.core. Each replacement names what it replaces. Type checks take
classes of torch and Megatron-LM, and bases made of them, for `Any`, since parc does not depend on them.
"""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

#: In the environment: the compute capability of the job's GPUs, such as 90, for Megatron-LM's checks.
CAPABILITY = "PARC_SMOKE_CAPABILITY"
#: Arguments that choose Transformer Engine, apex, fused kernels or NCCL.
WITHOUT_KERNELS: dict[str, Any] = {
    "transformer_impl": "local",
    "distributed_backend": "gloo",
    "num_workers": 0,
    "masked_softmax_fusion": False,
    "gradient_accumulation_fusion": False,
    "apply_rope_fusion": False,
    # The kernel of quick-GeGLU clamps before it adds the biases of experts that run one after another.
    "bias_gelu_fusion": False,
    "no_persist_layer_norm": True,
    "moe_grouped_gemm": False,
    "moe_permute_fusion": False,
    "tp_comm_overlap": False,
}


@contextmanager
def stand_ins() -> Iterator[None]:
    torch: Any = import_module("torch")
    cuda: Any = import_module("cuda_on_cpu")
    newer_typing()
    cuda.one_device(torch, divmod(int(os.environ[CAPABILITY]), 10))
    cuda.random_states(torch)
    cuda.gloo(torch)
    sys.modules["megatron.core.datasets.helpers_cpp"] = sample_index()
    with import_module("import_only_triton").import_only_triton():
        yield
        for name in ("arguments", "training"):
            import_module(f"megatron.training.{name}")
    cuda.tensors(torch)
    own_modules()
    norms(torch)
    reductions()
    attention(torch)
    random_trackers(torch)
    adam(torch)


def newer_typing() -> None:
    """Megatron-LM takes `override` from Python 3.12's typing; type checks are for 3.11."""
    if not hasattr(typing, "override"):
        typing.override = lambda function: function  # type: ignore[attr-defined]


def sample_index() -> Any:
    """Which document and place each sequence of a data set begins at: a C++ extension in Megatron-LM."""
    numpy: Any = import_module("numpy")
    module: Any = ModuleType("helpers_cpp")

    def begins(
        sizes: Any, order: Any, length: int, epochs: int, per_epoch: int, whole: bool, extra: int
    ) -> Any:
        tokens = epochs * per_epoch - extra
        count = tokens // length if whole else -(-tokens // length)
        ends = numpy.cumsum(sizes[order], dtype=numpy.int64)
        starts = numpy.minimum(numpy.arange(count + 1, dtype=numpy.int64) * length, tokens)
        places = numpy.searchsorted(ends, starts, side="right")
        before = ends[places] - sizes[order][places]
        return numpy.stack([places, starts - before], axis=1).astype(numpy.int32)

    module.build_sample_idx_int32 = module.build_sample_idx_int64 = begins
    return module


def own_modules() -> None:
    """Megatron-LM's own modules in PyTorch instead of Transformer Engine's, and no compiled extension."""
    arguments: Any = import_module("megatron.training.arguments")
    training: Any = import_module("megatron.training.training")
    enums: Any = import_module("megatron.core.transformer.enums")
    parse = arguments.parse_args

    def parsed(*given: Any, **named: Any) -> Any:
        found = parse(*given, **named)
        vars(found).update(WITHOUT_KERNELS, attention_backend=enums.AttnBackend.auto)
        if not found.moe_grouped_gemm:
            # Experts that run one after another know nothing of it.
            modules = [each for each in found.recompute_modules or () if each != "moe_act"]
            found.recompute_modules = modules or None
        if found.use_megatron_fsdp:
            # Its checkpoints wait for ever on CPUs: one rank gathers, the other does not.
            found.save = None
        return found

    arguments.parse_args = parsed
    datasets: Any = import_module("megatron.core.datasets.utils")
    datasets.compile_helpers = lambda: None
    training.initialize_megatron = partial(training.initialize_megatron, allow_no_cuda=True)


def norms(torch: Any) -> None:
    """PyTorch's norms under sequence parallelism too: their gradients are summed over the tensor group."""
    kinds = {"LayerNorm": torch.nn.LayerNorm, "RMSNorm": torch.nn.RMSNorm}

    def made(
        cls: Any, config: Any, hidden_size: int, eps: float = 1e-5, *_: object, **__: object
    ) -> Any:
        norm = kinds[config.normalization](normalized_shape=hidden_size, eps=eps)
        for parameter in norm.parameters():
            parameter.sequence_parallel = config.sequence_parallel
        return norm

    import_module("megatron.core.transformer.torch_norm").WrappedTorchNorm.__new__ = made


def reductions() -> None:
    """One rank has nothing to sum: what Megatron-LM's own layer then returns is a view, to which an expert's
    bias cannot be added in place; Transformer Engine's is none."""
    layers: Any = import_module("megatron.core.tensor_parallel.layers")
    reduce = layers.reduce_from_tensor_model_parallel_region

    def reduced(tensor: Any, group: Any = None) -> Any:
        return tensor if group is not None and group.size() == 1 else reduce(tensor, group)

    layers.reduce_from_tensor_model_parallel_region = reduced


def attention(torch: Any) -> None:
    """PyTorch's attention product with a mask, for heads of any size: windows of the layers that have them,
    and logits that take part without a value. Over a context group every rank gathers all keys and values,
    where Transformer Engine sends them around a ring."""
    state: Any = import_module("megatron.core.parallel_state")
    tracker: Any = import_module("megatron.core.tensor_parallel").get_cuda_rng_tracker
    windowed: Any = import_module("megatron.core.transformer.utils").is_layer_window_attention
    kind: Any = import_module("megatron.core.transformer.dot_product_attention").DotProductAttention
    gathered = of_all_ranks(torch)

    def begin(
        self: Any, config: Any, layer_number: int, *_: Any, softmax_scale: Any = None, **__: Any
    ) -> None:
        torch.nn.Module.__init__(self)
        self.config, self.scale = config, softmax_scale
        self.tp_group = state.get_tensor_model_parallel_group()
        every = config.window_attn_skip_freq
        self.window = (
            config.window_size if windowed(config.window_size, every, layer_number) else None
        )
        self.softmax_offset = None
        if config.softmax_type == "learnable":
            heads = config.num_attention_heads // self.tp_group.size()
            logits = torch.empty(heads, dtype=config.params_dtype)
            self.softmax_offset = torch.nn.Parameter(logits)
            reset(self)

    def reset(self: Any) -> None:
        if self.softmax_offset is not None and self.config.perform_initialization:
            self.config.init_method(self.softmax_offset)

    def forward(self: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> Any:
        ranks = state.get_context_parallel_world_size()
        group = state.get_context_parallel_group()
        mine = places(torch, len(query), state.get_context_parallel_rank(), ranks)
        there = torch.cat([places(torch, len(query), rank, ranks) for rank in range(ranks)])
        if ranks > 1:
            key, value = (gathered.apply(each.contiguous(), group) for each in (key, value))
        dropout = self.config.attention_dropout if self.training else 0.0
        heads = [each.permute(1, 2, 0, 3) for each in (query, key, value)]
        mask = seen(mine, there, self.window)
        with nullcontext() if self.config.sequence_parallel else tracker().fork():
            if self.softmax_offset is None:
                named = {"dropout_p": dropout, "scale": self.scale, "enable_gqa": True}
                product = torch.nn.functional.scaled_dot_product_attention(*heads, mask, **named)
            else:
                product = with_sinks(torch, heads, mask, self.scale, self.softmax_offset, dropout)
        return product.permute(2, 0, 1, 3).flatten(2)

    kind.__init__, kind.forward, kind.reset_parameters = begin, forward, reset


def with_sinks(
    torch: Any, heads: list[Any], mask: Any, scale: Any, sinks: Any, dropout: float
) -> Any:
    """Attention of query, key and value, each (batch, heads, tokens, size), in which a logit of each head
    joins the softmax, as core/fusions/fused_softmax.py adds it."""
    query, key, value = heads
    repeats = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(repeats, 1) for each in (key, value))
    scores = query @ key.transpose(2, 3) * (scale or query.shape[3] ** -0.5)
    scores = scores.float().masked_fill(~mask, float("-inf"))
    logits = sinks.float().view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    shares = torch.cat([scores, logits], -1).softmax(-1)[..., :-1].to(query.dtype)
    return torch.nn.functional.dropout(shares, dropout) @ value


def of_all_ranks(torch: Any) -> Any:
    """A tensor -> those of all ranks behind one another; backward, the sum of what all ranks make of it."""
    distributed = torch.distributed

    class OfAllRanks(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, tensor: Any, group: Any) -> Any:
            context.group = group
            parts = [torch.empty_like(tensor) for _ in range(group.size())]
            distributed.all_gather(parts, tensor, group=group)
            return torch.cat(parts)

        @staticmethod
        def backward(context: Any, gradient: Any) -> tuple[Any, None]:
            total = gradient.contiguous().clone()
            distributed.all_reduce(total, group=context.group)
            return total.chunk(context.group.size())[context.group.rank()], None

    return OfAllRanks


def places(torch: Any, length: int, rank: int, ranks: int) -> Any:
    """Where the tokens of a context rank stand: the sequence is cut into 2 * ranks, and each has one part
    from either end."""
    half = length // 2
    if ranks == 1:
        return torch.arange(length)
    starts = (rank * half, (2 * ranks - 1 - rank) * half)
    return torch.cat([torch.arange(start, start + half) for start in starts])


def seen(queries: Any, keys: Any, window: tuple[int, int] | None) -> Any:
    """Mask of the keys that each query sees."""
    mask = keys <= queries[:, None]
    return mask if window is None else mask & (keys >= queries[:, None] - window[0])


def random_trackers(torch: Any) -> None:
    """The trackers of tensor parallelism set the device's random state past torch.cuda; recomputation asks
    Transformer Engine whether products are in fp8."""
    random: Any = import_module("megatron.core.tensor_parallel.random")
    random._set_cuda_rng_state = lambda state, *_, **__: torch.set_rng_state(state)
    random._get_cuda_rng_state = lambda *_, **__: torch.get_rng_state()
    random.FP8GlobalStateManager = SimpleNamespace(is_fp8_enabled=lambda: False)
    random.fp8_autocast = random.activation_recompute_forward = lambda **_: nullcontext()


def adam(torch: Any) -> None:
    """An Adam that counts its steps in its groups, as apex's and Transformer Engine's do. Megatron-LM cannot
    resume with PyTorch's own, which counts them in the state of each weight: distrib_optimizer.py asks for
    the count before there is one, and then gives all weights one tensor, which each of them counts up.
    """
    optimizers: Any = import_module("megatron.core.optimizer")
    distributed: Any = import_module("megatron.core.optimizer.distrib_optimizer")
    adamw: Any = import_module("torch.optim.adamw").adamw

    class FusedAdam(torch.optim.Optimizer):  # type: ignore[misc]  # torch is not installed here
        def __init__(self, params: Any, adam_w_mode: bool = True, **named: Any) -> None:
            super().__init__(params, named)

        def step(self, closure: object = None) -> None:
            with torch.no_grad():
                for group in self.param_groups:
                    self._update(group)

        def _update(self, group: Any) -> None:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            count = group.get("step", 0)
            if group["params"]:
                group["step"] = count + 1
            moments = [
                [self._moment(weight, name) for weight in weights]
                for name in ("exp_avg", "exp_avg_sq")
            ]
            adamw(
                weights,
                [weight.grad for weight in weights],
                *moments,
                max_exp_avg_sqs=[],
                state_steps=[torch.tensor(float(count)) for _ in weights],
                amsgrad=False,
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=False,
            )

        def _moment(self, weight: Any, name: str) -> Any:
            return self.state[weight].setdefault(name, torch.zeros_like(weight))

    optimizers.Adam = distributed.Adam = FusedAdam
    optimizers.USING_PYTORCH_OPTIMIZER = False
    distributed.HAVE_APEX_OR_TE = distributed.USING_APEX_OPTIMIZER = True

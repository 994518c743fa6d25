"""A case of training -> a function that takes one step of a small decoder, as frameworks in PyTorch train it.

Weights are fp32 under autocast, as on one GPU; each rank trains a model of its own, so that nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cases import Case

#: Operations whose outputs selective recomputation keeps, of products every second one.
KEPT = (
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
)  # fmt: skip


def training_step(torch: Any, device: str, half: Any, case: Case) -> Callable[[], Any]:
    """The step: forward, loss in fp32, backward, clipped gradients and fused AdamW."""
    kind = device.partition(":")[0]
    torch.manual_seed(0)
    with torch.device(device):
        model = decoder(torch, case)
        size = (case["batch"], case["seq_len"])
        tokens, labels = (torch.randint(case["vocab"], size) for _ in range(2))
    loss_of = _loss(torch)
    if case["compile"]:
        for each in model.blocks:
            each.compile(fullgraph=True)
        loss_of = torch.compile(loss_of)
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-5, fused=kind == "cuda" or None)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(kind, dtype=half):
            loss = loss_of(model(tokens), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()

    return step


def _loss(torch: Any) -> Callable[[Any, Any], Any]:
    entropy = torch.nn.functional.cross_entropy
    return lambda logits, labels: entropy(logits.flatten(0, 1).float(), labels.flatten())


def decoder(torch: Any, case: Case) -> Any:
    """Embedding, blocks, norm and head: a model of the Llama family."""
    from torch import nn

    checkpointed = _checkpointed(torch, case["recompute"])

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(case["vocab"], case["hidden"])
            self.blocks = nn.ModuleList(block(torch, case) for _ in range(case["layers"]))
            self.norm = nn.RMSNorm(case["hidden"], eps=1e-5)
            self.head = nn.Linear(case["hidden"], case["vocab"], bias=False)
            size = case["hidden"] // case["heads"]
            turns = 10_000.0 ** -(torch.arange(0, size, 2) / size)
            angles = torch.outer(torch.arange(case["seq_len"]), turns)
            self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

        def forward(self, tokens: Any) -> Any:
            stream = self.embedding(tokens)
            for each in self.blocks:
                stream = checkpointed(each, stream, self.turns)
            return self.head(self.norm(stream))

    return Decoder()


def block(torch: Any, case: Case) -> Any:
    """Attention with fewer heads of keys and a gated feed-forward block, each behind its norm."""
    from torch import nn

    attend = nn.functional.scaled_dot_product_attention
    hidden, size = case["hidden"], case["hidden"] // case["heads"]
    keys = size * case["kv_heads"]

    def turned(heads: Any, turns: Any) -> Any:
        pairs = torch.view_as_complex(heads.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns[:, None]).flatten(3).type_as(heads)

    def linear(inner: int, columns: int) -> Any:
        return nn.Linear(inner, columns, bias=False)

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key = linear(hidden, hidden), linear(hidden, keys)
            self.value, self.out = linear(hidden, keys), linear(hidden, hidden)

        def forward(self, normed: Any, turns: Any) -> Any:
            made = [
                each(normed).unflatten(-1, (-1, size))
                for each in (self.query, self.key, self.value)
            ]
            query, key, value = turned(made[0], turns), turned(made[1], turns), made[2]
            heads = [each.transpose(1, 2) for each in (query, key, value)]
            seen = attend(*heads, is_causal=True, enable_gqa=keys < hidden)
            return self.out(seen.transpose(1, 2).contiguous().flatten(2))

    class FeedForward(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.up = linear(hidden, case["ffn"]), linear(hidden, case["ffn"])
            self.down = linear(case["ffn"], hidden)

        def forward(self, normed: Any) -> Any:
            return self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention, self.feed_forward = Attention(), FeedForward()
            self.first, self.second = (nn.RMSNorm(hidden, eps=1e-5) for _ in range(2))

        def forward(self, stream: Any, turns: Any) -> Any:
            stream = stream + self.attention(self.first(stream), turns)
            return stream + self.feed_forward(self.second(stream))

    return Block()


def _checkpointed(torch: Any, recompute: str) -> Callable[..., Any]:
    """How a block is called: plainly, or so that its backward pass computes again what was not kept."""
    if recompute == "none":
        return lambda called, *given: called(*given)
    from torch.utils import checkpoint

    run, further = checkpoint.checkpoint, dict[str, Any]()
    if recompute == "selective":
        names = [name for name in KEPT if hasattr(torch.ops.aten, name)]
        kept = {getattr(torch.ops.aten, name).default for name in names}
        further["context_fn"] = lambda: checkpoint.create_selective_checkpoint_contexts(
            _policy(torch, checkpoint.CheckpointPolicy, kept)
        )
    return lambda called, *given: run(called, *given, use_reentrant=False, **further)


def _policy(torch: Any, policies: Any, kept: set[Any]) -> Callable[..., Any]:
    """The answer of selective recomputation for each operation, with a count of products for either pass."""
    product, counts = torch.ops.aten.mm.default, {True: 0, False: 0}

    def policy(context: Any, operation: Any, *given: Any, **named: Any) -> Any:
        if operation is product:
            counts[context.is_recompute] += 1
            keeps = counts[context.is_recompute] % 2 == 1
        else:
            keeps = operation in kept
        return policies.MUST_SAVE if keeps else policies.PREFER_RECOMPUTE

    return policy

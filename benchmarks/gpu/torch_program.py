"""PyTorch's side of measure_steps.py: a program that trains a Llama on one GPU.

torch_program.py LAYERS HIDDEN HEADS KV_HEADS FFN VOCAB SEQ_LEN MICRO_BATCH MICROBATCHES STEPS
RECOMPUTE prints a line for each step, in the form of parc's train.py. fp32 weights under bf16
autocast, AdamW.
"""

from __future__ import annotations

import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def rotated(x: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding of (batch, heads, length, size)."""
    half = x.shape[-1] // 2
    wavelengths = 10_000 ** (torch.arange(half, device=x.device) / half)
    angles = torch.arange(x.shape[-2], device=x.device)[:, None] / wavelengths
    left, right = x.float().chunk(2, dim=-1)
    sine, cosine = angles.sin(), angles.cos()
    return torch.cat((left * cosine - right * sine, left * sine + right * cosine), dim=-1).to(x)


class Block(nn.Module):
    """A Llama block of plain PyTorch: every operation its own kernel, attention fused."""

    def __init__(self, hidden: int, heads: int, kv_heads: int, ffn: int):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, hidden // heads
        self.norms = nn.ModuleList(nn.RMSNorm(hidden) for _ in range(2))
        self.attention_in = nn.Linear(hidden, (heads + 2 * kv_heads) * self.size, bias=False)
        self.attention_out = nn.Linear(hidden, hidden, bias=False)
        self.ffn_in = nn.Linear(hidden, 2 * ffn, bias=False)
        self.ffn_out = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = (
            self.attention_in(self.norms[0](x)).view(batch, length, -1, self.size).transpose(1, 2)
        )
        query, key, value = heads.split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        query, key = rotated(query), rotated(key)
        mixed = F.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.heads != self.kv_heads
        )
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(batch, length, -1))
        gate, up = self.ffn_in(self.norms[1](x)).chunk(2, dim=-1)
        return x + self.ffn_out(F.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, layers: int, hidden: int, heads: int, kv_heads: int, ffn: int, vocab: int):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, kv_heads, ffn) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(hidden), nn.Linear(hidden, vocab, bias=False)

    def forward(self, tokens: torch.Tensor, recompute: str) -> torch.Tensor:
        x = self.embedding(tokens[:, :-1])
        for block in self.blocks:
            full = recompute == "full"
            x = checkpoint(block, x, use_reentrant=False) if full else block(x)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def train(
    sizes: list[int], seq_len: int, batch: int, microbatches: int, steps: int, recompute: str
) -> None:
    """Trains on made-up tokens and prints the time of every step."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        model = Llama(*sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(1, steps + 1):
        begin = time.perf_counter()
        for _ in range(microbatches):
            tokens = torch.randint(sizes[-1], (batch, seq_len + 1), device=device)
            with torch.autocast(device, dtype=torch.bfloat16):
                loss = model(tokens, recompute)
            (loss / microbatches).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.item()  # waits for the GPU
        seconds = time.perf_counter() - begin
        rate = batch * microbatches * seq_len / seconds
        print(
            f"step {step}/{steps} | loss {mean:.5f} | {seconds:.5f} s/step | {rate:,.0f} tokens/s",
            flush=True,
        )


if __name__ == "__main__":
    *sizes, seq_len, batch, microbatches, steps = (int(word) for word in sys.argv[1:11])
    train(sizes, seq_len, batch, microbatches, steps, sys.argv[11])

"""Reserved memory of torchtitan's training on one GPU, without a GPU: a step's allocations, replayed.

In the environment of measure_torchtitan_memory.py:

    python -m benchmarks.gpu.replay_torchtitan llama3.2-1b --seq 32768 --recompute full

torchtitan's model, its loss and its recomputation run under autocast on fake tensors, and every tensor that
comes or goes is handed to the rules of torch's allocator (allocator.py). Nothing is computed or stored.
Kernels are those of measure_torchtitan_memory.py; attention's backward pass holds the gradient of its queries
in fp32 as well. Steps are those of train.py: gradients of all micro-batches, clipped, then fused AdamW.
"""

from __future__ import annotations

import argparse
import gc
import weakref
from collections.abc import Callable
from typing import Any

from benchmarks.gpu import measure_torchtitan_memory as fake
from benchmarks.gpu.allocator import Allocator, Block

GIB = 2**30
STEPS = 2


def llama_1b(seq: int) -> Any:
    """Llama 3.2 1B, whose head is its embedding, which torchtitan has in qwen3 alone."""
    from torchtitan.models.qwen3 import Qwen3Model, Qwen3ModelArgs

    return Qwen3Model(
        Qwen3ModelArgs(
            dim=2048, n_layers=16, n_heads=32, n_kv_heads=8, head_dim=64, hidden_dim=8192,
            vocab_size=128256, max_seq_len=seq, qk_norm=False, enable_weight_tying=True,
        )
    )  # fmt: skip


def llama_8b_of_8(seq: int) -> Any:
    """Llama 3 8B, cut to 8 layers."""
    from torchtitan.models.llama3 import Transformer, TransformerModelArgs

    return Transformer(
        TransformerModelArgs(
            dim=4096, n_layers=8, n_heads=32, n_kv_heads=8, ffn_dim_multiplier=1.3, multiple_of=1024,
            vocab_size=128256, max_seq_len=seq,
        )
    )  # fmt: skip


MODELS: dict[str, Callable[[int], Any]] = {
    "llama3.2-1b": llama_1b,
    "llama3-8b-of-8": llama_8b_of_8,
}


def recorder(allocator: Allocator) -> Any:
    """A dispatch mode under which the allocator sees the storage of every tensor, from start to end."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Recorder(TorchDispatchMode):  # type: ignore[misc]  # torch is not installed here
        def __init__(self) -> None:
            super().__init__()
            self.known: set[int] = set()

        def see(self, storage: Any) -> None:
            place = storage._cdata
            if place in self.known or not storage.nbytes():
                return
            self.known.add(place)
            weakref.finalize(storage, self.forget, place, allocator.take(storage.nbytes()))

        def forget(self, place: int, block: Block) -> None:
            self.known.discard(place)
            allocator.give(block)

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = str(function)
            widened = None
            if "flash_attention" in name and "backward" in name:
                widened = allocator.take(4 * args[1].numel())
            made = function(*args, **(kwargs or {}))
            for leaf in tree_leaves(made):
                if isinstance(leaf, torch.Tensor):
                    self.see(leaf.untyped_storage())
            if widened is not None:
                allocator.give(widened)
            return made

    return Recorder()


def recomputed(model: Any, mode: str) -> None:
    """torchtitan's own wrappers, `op` where it is selective."""
    import torch
    from torchtitan.config.job_config import ActivationCheckpoint
    from torchtitan.distributed.activation_checkpoint import apply_ac
    from torchtitan.models.llama3.infra.parallelize import _op_sac_save_list

    settings = ActivationCheckpoint()
    settings.mode, settings.selective_ac_option = mode, "op"
    kept = {*_op_sac_save_list, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default}
    if mode != "none":
        apply_ac(model, settings, model_compile_enabled=False, op_sac_save_list=kept)


def replay(run: argparse.Namespace) -> Allocator:
    fake.cpu_as_device()
    fake.kernels_as_on_gpu()
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torchtitan.components.loss import cross_entropy_loss

    allocator, shape = Allocator(), (run.micro_batch, run.seq)
    with FakeTensorMode(allow_non_fake_inputs=True), recorder(allocator):
        model = MODELS[run.model](run.seq)
        gc.collect()
        recomputed(model, run.recompute)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        for _ in range(STEPS):
            optimizer.zero_grad()
            for _ in range(run.microbatches):
                tokens, labels = (torch.zeros(shape, dtype=torch.int64) for _ in range(2))
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    predicted = model(tokens)
                    loss = cross_entropy_loss(predicted, labels) / labels.numel()
                del predicted
                loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            optimizer.step()
            gc.collect()
    return allocator


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--seq", type=int, default=4096)
    parser.add_argument("--micro-batch", type=int, default=1)
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--recompute", choices=("none", "selective", "full"), default="none")
    allocator = replay(parser.parse_args())
    print(
        f"allocated {allocator.most_allocated / GIB:.2f} GiB, "
        f"reserved {allocator.most_reserved / GIB:.2f} GiB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

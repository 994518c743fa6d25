"""What the host takes for one layer: python host_probe.py megatron|torchtitan ANSWER.json

Tensors are so small that arithmetic is next to nothing: what is left is Python, PyTorch's dispatch and
autograd. Seconds of the processor, forward and backward, of a layer more.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

HIDDEN, HEADS, TOKENS, VOCABULARY = 64, 4, 16, 128
FEW, MANY, REPEATS = 2, 12, 150

Model = tuple[Any, Callable[[Any], Any]]


def of_megatron(layers: int) -> Model:
    """Megatron-core's own layers, without Transformer Engine and without fused kernels."""
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.transformer.transformer_config import TransformerConfig

    if not parallel_state.model_parallel_is_initialized():
        parallel_state.initialize_model_parallel()
        tensor_parallel.random.CudaRNGStatesTracker.fork = lambda self, name=None: nullcontext()
        # Unfused attention makes its buffer on this device. The stand-ins say 0, as CUDA does, and a
        # TorchFunctionMode of theirs turns that into the CPU: it would run at every call, and be timed.
        torch.cuda.current_device = lambda: "cpu"
    config = TransformerConfig(
        num_layers=layers,
        hidden_size=HIDDEN,
        num_attention_heads=HEADS,
        ffn_hidden_size=4 * HIDDEN,
        use_cpu_initialization=True,
        hidden_dropout=0.0,
        attention_dropout=0.0,
    )
    made = GPTModel(config, get_gpt_layer_local_spec(), VOCABULARY, 2 * TOKENS)
    tokens = torch.randint(0, VOCABULARY, (1, TOKENS))
    places = torch.arange(TOKENS)[None]
    mask = torch.ones(1, 1, TOKENS, TOKENS, dtype=torch.bool).triu(1)
    return made, lambda model: model(tokens, places, mask, labels=tokens)


def of_torchtitan(layers: int) -> Model:
    """torchtitan's Llama, before it is divided."""
    from torchtitan.models.llama3.model.args import TransformerModelArgs
    from torchtitan.models.llama3.model.model import Transformer

    shape = TransformerModelArgs(
        dim=HIDDEN, n_layers=layers, n_heads=HEADS, vocab_size=VOCABULARY, max_seq_len=2 * TOKENS
    )
    tokens = torch.randint(0, VOCABULARY, (1, TOKENS))
    return Transformer(shape), lambda model: model(tokens)


def least(model: Model) -> tuple[float, float]:
    """Seconds of the fastest forward and of the fastest backward pass."""
    made, call = model
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        loss = call(made).sum()
        middle = time.process_time()
        loss.backward()
        found.append((middle - start, time.process_time() - middle))
    forward, backward = zip(*found, strict=True)
    return min(forward), min(backward)


def main() -> None:
    framework, answer = sys.argv[1:]
    if framework == "megatron":
        import megatron_stand_ins as stand_ins

        stand_ins.before_import()
        importlib.import_module("megatron.core.models.gpt.gpt_layer_specs")
        stand_ins.after_import()
        build = of_megatron
    else:
        import torchtitan_stand_ins

        torchtitan_stand_ins.before_import("torchtitan.models.llama3.model.model")
        build = of_torchtitan
    torch.set_num_threads(1)
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    few, many = least(build(FEW)), least(build(MANY))
    forward, backward = ((more - less) / (MANY - FEW) for less, more in zip(few, many, strict=True))
    Path(answer).write_text(json.dumps({"forward": forward, "backward": backward}))


if __name__ == "__main__":
    main()

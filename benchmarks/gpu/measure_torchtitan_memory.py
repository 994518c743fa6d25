"""Peak memory of torchtitan's own models on whole layouts, without a GPU -> data/memory_torchtitan.csv.

Needs an environment of its own (Python 3.11 or later, CPU build of torch):
pip install torch==2.13.0 torchtitan==0.2.2. Then, in that environment:

    python benchmarks/gpu/measure_torchtitan_memory.py --all benchmarks/data/memory_torchtitan.csv
    python benchmarks/gpu/measure_torchtitan_memory.py "8B fsdp=8 tp=2 seq=8192 recompute=selective"

torchtitan's Trainer is built for every rank count at full size with a fake process group, its
parameters on the meta device. Then rank 0 fills the optimizer's states and runs a step's
micro-batches under FakeTensorMode, and MemTracker follows every allocation: nothing is computed, no
memory taken. What it cannot see: NCCL's and CUDA's own memory and the caching allocator's gaps. Two
kernels stand for those of a GPU: attention is PyTorch's fused CPU kernel, which keeps its output and
the statistics of its rows, as flash attention does; the norm is layer norm's, which keeps its input and
statistics as the GPU's fused RMSNorm does, where the CPU would compute it in separate fp32 steps.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Each a run of rank 0: flavor of Llama 3, degrees, tokens, and what of FSDP and recomputation is on.
LAYOUTS = (
    "8B fsdp=8 seq=8192 recompute=full depths=32",
    "8B fsdp=8 seq=8192 recompute=selective depths=32",
    "8B fsdp=8 seq=8192 recompute=none depths=32",
    "8B hsdp=2 fsdp=8 seq=8192 recompute=selective depths=32",
    "8B fsdp=8 seq=8192 recompute=selective",
    "70B fsdp=64 seq=8192 recompute=full",
    "8B fsdp=4 tp=2 seq=8192 recompute=full",
    "8B fsdp=4 tp=2 seq=8192 recompute=selective",
    "70B fsdp=64 seq=4096 recompute=selective",
    "8B fsdp=8 seq=8192 recompute=selective reshard=never",
    "8B fsdp=8 seq=4096 micro_batch=2 recompute=selective",
    "8B fsdp=8 seq=4096 recompute=none",
    "70B fsdp=8 tp=8 seq=8192 microbatches=2 recompute=selective",
    "8B fsdp=4 tp=2 seq=8192 recompute=none",
    "70B hsdp=2 fsdp=32 seq=8192 recompute=full",
    "8B fsdp=64 seq=8192 micro_batch=2 recompute=full",
    "8B fsdp=8 seq=8192 microbatches=2 recompute=full",
)
LAYERS = {"8B": 32, "70B": 80}
#: Depths at which a layout is measured, unless it says others, to be continued to the model's own in a
#: straight line: 4 and 7 layers differ by 3 that hold the same and gather and free the same.
DEPTHS = "4/7"
COLUMNS = (
    "flavor", "hsdp", "fsdp", "tp", "seq", "micro_batch", "microbatches", "recompute", "reshard", "depths",
)  # fmt: skip
NEUTRAL = {
    "hsdp": "1", "fsdp": "1", "tp": "1", "micro_batch": "1", "microbatches": "1", "reshard": "default",
    "depths": DEPTHS,
}  # fmt: skip
FOUND = ("peak_bytes", "versions")


def settings(layout: str) -> dict[str, str]:
    flavor, *rest = layout.split()
    return {"flavor": flavor, **NEUTRAL, **dict(part.split("=") for part in rest)}


def flags(run: dict[str, str], folder: str) -> list[str]:
    """The command line that torchtitan would be given."""
    return [
        f"--job.dump_folder={folder}",
        "--model.name=llama3",
        f"--model.flavor={run['flavor']}",
        f"--model.hf_assets_path={folder}/tokenizer",
        "--training.dataset=c4_test",
        f"--training.dataset_path={folder}/data",
        f"--training.seq_len={run['seq']}",
        f"--training.local_batch_size={run['micro_batch']}",
        f"--parallelism.data_parallel_replicate_degree={run['hsdp']}",
        f"--parallelism.data_parallel_shard_degree={run['fsdp']}",
        f"--parallelism.tensor_parallel_degree={run['tp']}",
        f"--parallelism.fsdp_reshard_after_forward={run['reshard']}",
        f"--activation_checkpoint.mode={run['recompute']}",
        "--activation_checkpoint.selective_ac_option=op",
        "--comm.mode=fake_backend",
    ]


def assets(folder: str) -> None:
    """A tokenizer and a text, since torchtitan builds its data loader."""
    words = ["[UNK]", "<bos>", "<eos>", *(f"w{index}" for index in range(200))]
    for name in ("tokenizer", "data"):
        os.makedirs(f"{folder}/{name}")
    Path(folder, "tokenizer", "vocab.txt").write_text("\n".join(words) + "\n")
    Path(folder, "tokenizer", "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<bos>", "eos_token": "<eos>"})
    )
    line = json.dumps({"text": " ".join(words[3:])})
    Path(folder, "data", "data.json").write_text((line + "\n") * 100)


@contextlib.contextmanager
def kernels_absent() -> Iterator[None]:
    """torchtitan imports Triton kernels that these models never call; a CPU build of torch has no
    Triton."""
    import torch._dynamo
    import torch._inductor.runtime.hints
    import torch._inductor.utils
    import torch.nn.attention.flex_attention  # noqa: F401

    def any_name(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})

    language, root = types.ModuleType("triton.language"), types.ModuleType("triton")
    language.__getattr__ = any_name  # type: ignore[method-assign]
    root.jit = lambda function=None, **_: function or (lambda inner: inner)  # type: ignore[attr-defined]
    root.autotune = root.heuristics = lambda *_, **__: lambda inner: inner  # type: ignore[attr-defined]
    root.Config = lambda *_, **__: None  # type: ignore[attr-defined]
    root.language, root.__path__ = language, []  # type: ignore[attr-defined]
    sys.modules.update({"triton": root, "triton.language": language})
    try:
        yield
    finally:
        del sys.modules["triton"], sys.modules["triton.language"]


def cpu_as_device() -> None:
    """Let torchtitan take the CPU for its accelerator."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    import torch

    torch._utils._get_available_device_type = lambda: "cpu"
    properties = types.SimpleNamespace(total_memory=80 * 2**30, name="cpu")
    absent: dict[str, Any] = {
        "set_device": None, "current_device": 0, "get_device_name": "CPU", "empty_cache": None,
        "get_device_properties": properties, "reset_peak_memory_stats": None, "memory_stats": {},
    }  # fmt: skip
    for name, value in absent.items():
        setattr(torch.cpu, name, lambda *_, value=value, **__: value)
    if not hasattr(torch.distributed, "set_timeout"):
        torch.distributed.set_timeout = torch.distributed.distributed_c10d._set_pg_timeout
    import torch.utils._triton

    torch.utils._triton.has_triton_package()
    with kernels_absent():
        import torchtitan.components.quantization
        import torchtitan.models.moe  # noqa: F401


def kernels_as_on_gpu() -> None:
    """See the module's text. The list holds the operations whose outputs selective recomputation keeps."""
    import torch
    from torchtitan.models.llama3.infra import parallelize

    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    parallelize._op_sac_save_list.add(attention)
    torch.nn.RMSNorm.forward = lambda self, inputs: torch.nn.functional.layer_norm(
        inputs, self.normalized_shape, self.weight, None, self.eps
    )


def shapes_uncounted() -> None:
    """DTensor finds the shapes of its results with fake tensors of global size, which no GPU holds."""
    from torch.distributed.tensor._sharding_prop import ShardingPropagator
    from torch.utils._python_dispatch import _disable_current_modes

    infer = ShardingPropagator._propagate_tensor_meta_non_cached

    def uncounted(self: Any, schema: Any) -> Any:
        with _disable_current_modes():
            return infer(self, schema)

    ShardingPropagator._propagate_tensor_meta_non_cached = uncounted


def trainer(run: dict[str, str], folder: str) -> tuple[Any, Any]:
    """torchtitan's Trainer with parameters on the meta device, and the method that would allocate them."""
    import torch
    from torchtitan.config import ConfigManager
    from torchtitan.models.llama3 import Transformer
    from torchtitan.train import Trainer

    config = ConfigManager().parse_args(flags(run, folder))
    config.checkpoint.enable = config.validation.enable = config.compile.enable = False
    world = int(run["hsdp"]) * int(run["fsdp"]) * int(run["tp"])
    os.environ.update(NGPU=str(world), LOCAL_RANK="0", RANK="0", WORLD_SIZE=str(world))
    allocate = torch.nn.Module.to_empty
    torch.nn.Module.to_empty = lambda self, **_: self
    Transformer.init_weights = lambda self, *_, **__: None
    kernels_as_on_gpu()
    shapes_uncounted()
    return Trainer(config), allocate


def peak(built: Any, allocate: Any, run: dict[str, str]) -> dict[str, int]:
    """Bytes at the fullest moment of a step that finds optimizer states there, by MemTracker's kinds."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    shape = (int(run["micro_batch"]), int(run["seq"]))
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = built.model_parts[0]
        allocate(model, device="cpu")
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        for each in model.parameters():
            each.grad = torch.zeros_like(each)
        optimizer.step()
        optimizer.zero_grad()
        gc.collect()
        tracker = MemTracker()
        tracker.track_external(model, optimizer)
        with tracker:
            _step(built, model, shape, int(run["microbatches"]), tracker)
        found = tracker.get_tracker_snapshot("peak")
    fullest = max(found.values(), key=lambda kinds: sum(kinds.values()))
    return {str(getattr(kind, "value", kind)): int(size) for kind, size in fullest.items()}


def _step(built: Any, model: Any, shape: tuple[int, int], microbatches: int, tracker: Any) -> None:
    """A step's micro-batches in the order of torchtitan's train_step. The fused update that follows works
    in place."""
    import torch

    for _ in range(microbatches):
        # Fake tensors of DTensor's loss refer to each other; torchtitan has turned the collector off.
        gc.collect()
        tracker.reset_mod_stats()
        inputs, labels = torch.randint(0, 256, shape), torch.randint(0, 256, shape)
        with built.train_context():
            with built.maybe_enable_amp:
                predicted = model(inputs)
                loss = built.loss_fn(predicted, labels) / float(shape[0] * shape[1] * microbatches)
            del predicted
            loss.backward()


def measure(layout: str, depth: int) -> dict[str, Any]:
    """Peak bytes of a layout with so many layers."""
    run = settings(layout)
    cpu_as_device()
    import torch
    import torchtitan
    from torchtitan.protocols.train_spec import get_train_spec

    get_train_spec("llama3").model_args[run["flavor"]].n_layers = depth
    with tempfile.TemporaryDirectory() as folder:
        assets(folder)
        built, allocate = trainer(run, folder)
    kinds = peak(built, allocate, run)
    torch.distributed.destroy_process_group()
    versions = f"torchtitan {torchtitan.__version__} torch {torch.__version__.partition('+')[0]}"
    return {"peak_bytes": kinds["Total"], "versions": versions, "kinds": kinds}


def in_a_process(layout: str, depth: int) -> dict[str, Any]:
    """`measure` in a fresh interpreter, since torchtitan is changed for good."""
    command = [sys.executable, __file__, layout, "--depth", str(depth)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{layout}: {answer.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def whole(layout: str) -> dict[str, Any]:
    """Peak bytes at the model's own depth: measured, or on the line through two depths."""
    run = settings(layout)
    found = {depth: in_a_process(layout, depth) for depth in map(int, run["depths"].split("/"))}
    first, last = min(found), max(found)
    low, high = found[first]["peak_bytes"], found[last]["peak_bytes"]
    slope = (high - low) / (last - first) if last > first else 0.0
    return {
        **run,
        **found[last],
        "peak_bytes": round(high + slope * (LAYERS[run["flavor"]] - last)),
    }


def measure_all(path: Path) -> None:
    """Every layout in a process of its own, appended as it comes; layouts already in the file are kept."""
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {tuple(row[name] for name in COLUMNS) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join((*COLUMNS, *FOUND)) + "\n")
    for layout in LAYOUTS:
        run = settings(layout)
        if tuple(run[name] for name in COLUMNS) in done:
            continue
        begun = time.monotonic()
        found = whole(layout)
        with path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(
                found[name] for name in (*COLUMNS, *FOUND)
            )
        size, seconds = found["peak_bytes"] / 2**30, time.monotonic() - begun
        print(f"{layout:60} {size:7.2f} GiB {seconds:5.0f} s  {found['kinds']}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("layout", nargs="?", help='such as "8B fsdp=8 seq=8192 recompute=full"')
    parser.add_argument("--all", type=Path, metavar="CSV", help="add every layout that it lacks")
    parser.add_argument("--depth", type=int, default=0, help="layers, instead of the model's own")
    given = parser.parse_args()
    if given.all:
        measure_all(given.all)
    elif given.layout:
        print(
            json.dumps(measure(given.layout, given.depth) if given.depth else whole(given.layout))
        )
    else:
        parser.error("a layout, or --all FILE.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Logs in the frameworks' own formats, of runs whose times a perturbed cost model gives."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import parc
from parc.backends import BACKENDS
from parc.backends.accelerate.emit import files as accelerate_files
from parc.backends.deepspeed.emit.files import layout_facts
from parc.backends.log import announcement
from parc.calibrate.measured_run import MeasuredRun
from parc.calibrate.parameters import with_settings
from parc.calibrate.site import predicted_seconds
from parc.calibrate.steady_state import SteadyState
from parc.commands.estimate import layout
from parc.compiler.case import Case
from parc.compiler.plan import Layout
from parc.compiler.run import run_of
from parc.compiler.search.complete_layout import complete
from parc.compiler.variables import PLACE
from parc.dsl.job import Goal, Job

JOB = """\
model llama3_8b from std.llama3_8b {}
cluster pod from std.h100_pod { nodes = 1 }
train { seq_len = 4096; global_batch = 128; steps = 1000 }
target megatron   { data = synthetic }
target torchtitan { data = synthetic }
target deepspeed  { data = synthetic }
"""
#: A cluster whose GPUs and network are slower than the published figures.
TRUE = {"matmul_efficiency": 0.53, "network_efficiency": 0.6}


@dataclass(frozen=True)
class Ran:
    """One run: target, layout as in `--layout`, length and batch."""

    target: str
    degrees: str
    gpus: int = 8
    seq_len: int = 4096
    global_batch: int = 128

    @property
    def layout(self) -> Layout:
        degrees = layout(self.degrees)
        ways = prod(degrees.get(name, 1) for name in ("tp", "pp", "cp"))
        shard = degrees.setdefault("dp_shard", 1)
        return Layout(**degrees, dp_replicate=self.gpus // ways // shard)


#: Runs that tell of products, attention, the network and little of anything.
RUNS = {
    "tp1": Ran("megatron", "zero=1,dp_shard=8,recompute=selective"),
    "tp2": Ran("megatron", "tp=2,micro_batch=2,zero=1,dp_shard=4,recompute=selective"),
    "long": Ran("megatron", "tp=2,cp=2,zero=1,dp_shard=2,recompute=full", 8, 32_768, 16),
    "wide": Ran("megatron", "zero=1,dp_shard=32,recompute=selective", 32),
    "spread": Ran("megatron", "tp=32,micro_batch=16,recompute=full", 32),
    "short": Ran("megatron", "zero=1,dp_shard=64,recompute=selective", 64, 2048, 64),
    "fsdp": Ran("torchtitan", "zero=3,dp_shard=32,recompute=full", 32),
    "stages": Ran("torchtitan", "pp=2,zero=1,dp_shard=4,recompute=full"),
    "zero3": Ran("deepspeed", "zero=3,dp_shard=8,micro_batch=2,recompute=full"),
    "trl": Ran("accelerate", "zero=3,dp_shard=8,micro_batch=2,recompute=full"),
}


def job_of(ran: Ran, folder: Path, text: str = JOB, name: str = "job.par") -> Job:
    path = folder / name
    path.write_text(text)
    job = parc.load(path)
    train = job.train.model_copy(update={"seq_len": ran.seq_len, "global_batch": ran.global_batch})
    cluster = job.cluster.model_copy(update={"nodes": (ran.gpus // 8,)})
    return job.model_copy(update={"goal": Goal(), "train": train, "cluster": cluster})


def true_seconds(ran: Ran, folder: Path, values: Mapping[str, float]) -> float:
    """What a step takes on a cluster with these parameters, as the cost model has it."""
    return seconds_of(ran, job_of(ran, folder), values)


def seconds_of(ran: Ran, job: Job, values: Mapping[str, float]) -> float:
    """The time of a step of a job with the run's batch and GPUs."""
    case = Case(job, BACKENDS[ran.target].target)
    said = ran.layout.model_dump(exclude={"nodes", "dp_replicate", "microbatches"})
    layout = complete(case, said)
    place = 0 if ran.target == "megatron" else layout[PLACE]
    placement = case.placements.split(layout["pp"], layout["vpp"], place)
    nothing = SteadyState(1.0, 0.0, 1, 0)
    run = MeasuredRun("", job, ran.target, layout, placement, nothing, ())
    return predicted_seconds(run, with_settings(job.cluster, values))


def noisy(seconds: float, noise: float, seed: int, count: int = 30) -> list[float]:
    """Step times: a slow start, then the steady time with noise and a checkpoint's stall."""
    dice = random.Random(seed)
    steps = [seconds * (1 + dice.gauss(0, noise)) for _ in range(count)]
    return [seconds * 9, seconds * 1.8, *steps[: count // 2], seconds * 3, *steps[count // 2 :]]


def log_text(ran: Ran, times: Sequence[float], model: Mapping[str, int] | None = None) -> str:
    writers = {
        "megatron": megatron_text,
        "torchtitan": torchtitan_text,
        "deepspeed": deepspeed_text,
        "accelerate": accelerate_text,
    }
    return writers[ran.target](ran, times, {**LLAMA, **(model or {})})


#: What Megatron-FSDP shards, by ZeRO stage.
SHARDED = ("no_shard", "no_shard", "optim_grads", "optim_grads_params")
LLAMA = {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336}


def megatron_text(ran: Ran, times: Sequence[float], model: Mapping[str, int]) -> str:
    """training/arguments.py:1909 and training/training.py:2847 of Megatron-core 0.19.2."""
    layout = ran.layout
    arguments = {
        "bf16": True,
        "context_parallel_size": layout.cp,
        "data_parallel_sharding_strategy": SHARDED[layout.zero],
        "data_parallel_size": layout.dp,
        "expert_model_parallel_size": layout.ep,
        "expert_tensor_parallel_size": layout.tp,
        "ffn_hidden_size": model["ffn"],
        "fp16": False,
        "fp8": None,
        "global_batch_size": ran.global_batch,
        "hidden_size": model["hidden"],
        "micro_batch_size": layout.micro_batch,
        "num_attention_heads": model["heads"],
        "num_distributed_optimizer_instances": layout.dp_replicate,
        "num_experts": None,
        "num_layers": model["layers"],
        "num_query_groups": model["kv_heads"],
        "pipeline_model_parallel_layout": None,
        "pipeline_model_parallel_size": layout.pp,
        "recompute_granularity": None if not layout.recompute else layout.recompute_name,
        "recompute_method": _recomputed(layout, "block", "uniform"),
        "recompute_num_layers": _recomputed(layout, layout.recompute_layers, 1),
        "seq_length": ran.seq_len,
        "tensor_model_parallel_size": layout.tp,
        "use_distributed_optimizer": layout.zero >= 1,
        "use_megatron_fsdp": layout.zero >= 2,
        "virtual_pipeline_model_parallel_size": None if layout.vpp == 1 else layout.vpp,
        "world_size": ran.gpus,
    }
    lines = [
        f"using world size: {ran.gpus}, data-parallel size: {layout.dp}, ",
        "------------------------ arguments ------------------------",
        *(f"  {name} {'.' * (48 - len(name))} {value}" for name, value in arguments.items()),
        "-------------------- end of arguments ---------------------",
        "[before the start of training step] datetime: 2026-11-20 09:00:00 ",
    ]
    for step, seconds in enumerate(times, 1):
        lines.append(
            f" [2026-11-20 09:00:{step % 60:02}.000000] iteration {step * 10:8d}/    1000 |"
            f" consumed samples: {step * 10 * ran.global_batch:12d} |"
            f" elapsed time per iteration (ms): {seconds * 1000:.1f} |"
            f" throughput per GPU (TFLOP/s/GPU): 401.2 | learning rate: 3.000000E-04 |"
            f" global batch size: {ran.global_batch:5d} | lm loss: 2.345678E+00 | loss scale: 1.0 |"
            f" grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
    return "\n".join(lines) + "\n"


def _recomputed(layout: Layout, some: object, every: object) -> object:
    """What a log says of full recomputation: of some layers of a chunk, or of all."""
    if layout.recompute_name != "full":
        return None
    return some if layout.recompute_layers else every


def torchtitan_text(ran: Ran, times: Sequence[float], model: Mapping[str, int]) -> str:
    """As torchtitan 0.2.2 prints it, colours and both of two ranks included."""
    layout = ran.layout
    mode = layout.recompute_name
    names = {"dim": "hidden", "n_layers": "layers", "n_heads": "heads", "n_kv_heads": "kv_heads"}
    sizes = {theirs: model[ours] for theirs, ours in names.items()}
    said = [
        "Starting job: llama3_8b",
        f"Building device mesh with parallelism: pp={layout.pp}, dp_replicate={layout.dp_replicate}, "
        f"dp_shard={layout.dp_shard}, cp={layout.cp}, tp={layout.tp}, ep={layout.ep}, etp={layout.etp}",
        f"Building llama3 parc_llama3_8bwith {json.dumps(sizes, indent=2)}",
        "\x1b[34mModel llama3 parc_llama3_8b \x1b[31msize: 8,030,261,248 total parameters\x1b[39m",
        *([f"Applied {mode} activation checkpointing to the model"] if layout.recompute else []),
        *_pipeline(ran),
        "Applied FSDP to the model",
        f"Trainer is initialized with local batch size {_local_batch(ran)}, global batch size "
        f"{ran.global_batch}, gradient accumulation steps 4, sequence length {ran.seq_len}, "
        "total steps 1000 (warmup 200)",
    ]
    for step, seconds in enumerate(times):
        rate = ran.global_batch * ran.seq_len / seconds / ran.gpus
        said += [
            f"\x1b[31mstep: {max(step * 10, 1):2}  \x1b[32mloss:  5.15074  "
            "\x1b[38;2;180;60;0mgrad_norm:  9.8248  "
            "\x1b[38;2;54;234;195mmemory: 57.40GiB(72.51%)  "
            f"\x1b[34mtps: {round(rate):,}  \x1b[36mtflops: 280.50  \x1b[35mmfu: 28.36%\x1b[39m"
        ] * 2
    stamp = "[titan] 2026-11-20 09:05:50,621 - root - INFO - "
    return "".join(f"{stamp}{line}\n" for line in said)


def _local_batch(ran: Ran) -> int:
    """A pipeline takes all micro-batches of a replica at once."""
    if ran.layout.pp == 1:
        return ran.layout.micro_batch
    return ran.global_batch // ran.layout.dp


def _pipeline(ran: Ran) -> list[str]:
    layout = ran.layout
    if layout.pp == 1:
        return []
    count = _local_batch(ran) // layout.micro_batch
    stages = layout.pp * layout.vpp
    return [f"Using pipeline schedule 1F1B with {count} microbatches and {stages} stages."]


def deepspeed_text(ran: Ran, times: Sequence[float], model: Mapping[str, int]) -> str:
    """As parc's train.py prints it."""
    layout = ran.layout
    tokens = ran.global_batch * ran.seq_len
    head = (
        f"layout {layout_facts(layout)} gpus={ran.gpus} micro_batch={layout.micro_batch} "
        f"global_batch={ran.global_batch} seq_len={ran.seq_len} "
        f"{' '.join(f'{name}={size}' for name, size in model.items())}\n"
    )
    return head + "".join(
        f"step {step}/1000 | loss 5.54967 | grad norm 0.6776 | lr 3.000e-03 | {seconds:.3f} s/step | "
        f"{tokens / seconds:,.0f} tokens/s | 301.0 TFLOP/s per GPU | MFU 30.4%\n"
        for step, seconds in enumerate(times, 1)
    )


def accelerate_text(ran: Ran, times: Sequence[float], model: Mapping[str, int]) -> str:
    """As parc's train.py prints it, behind the name of its rank."""
    tokens = ran.global_batch * ran.seq_len
    sizes = " ".join(f"{name}={size}" for name, size in model.items())
    head = f"layout {accelerate_files.layout_facts(ran.layout)} global_batch={ran.global_batch} "
    return f"[default0]:{head}seq_len={ran.seq_len} {sizes}\n" + "".join(
        f"[default0]:step {step} of 1000: loss 5.54967, grad norm 0.6776, lr 3.000e-03, "
        f"{seconds:.3f} s a step, {tokens / seconds:,.0f} tokens/s\n"
        for step, seconds in enumerate(times, 1)
    )


def announced(job: Job, target: str) -> str:
    """The line that parc's entry scripts begin with."""
    return f"{announcement(run_of(job, target))}\n"


def record(
    folder: Path,
    names: Sequence[str],
    noise: float = 0.01,
    values: Mapping[str, float] = TRUE,
) -> list[str]:
    """job.par and logs of some of RUNS in a folder, on a cluster with these parameters."""
    for seed, name in enumerate(names):
        seconds = true_seconds(RUNS[name], folder, values)
        (folder / f"{name}.log").write_text(log_text(RUNS[name], noisy(seconds, noise, seed)))
    return [f"{name}.log" for name in names]

"""A row of a table of fine-tuning runs -> the run that its columns state, and what they leave open.

Nothing is keyed to a source: what a row leaves open is what its framework does unless told otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.accuracy.rows.csv_rows import Unusable
from benchmarks.accuracy.rows.gpu_names import GPUS, HOME
from benchmarks.accuracy.rows.tuning_rows import TuningRow
from benchmarks.accuracy.setups.open_settings import MEGATRON, completed
from benchmarks.accuracy.setups.tuned_models import model_of
from parc.compiler.model import parameters
from parc.compiler.tuning.ledger import Quantized
from parc.compiler.tuning.tuning_run import Layout, Offload, Run, Sharding, States
from parc.dsl.diagnostics import JobError
from parc.dsl.hardware import Cluster
from parc.dsl.model import Model
from parc.dsl.standard import std_cluster, std_gpu
from parc.dsl.tuning import Adapters, Tune

GIB = 2**30
#: Memory that a process can see of cards that the standard library lacks.
MEMORY = {
    "T4": 14.6 * GIB, "RTX3090Ti": 23.7 * GIB, "RTX3090": 23.7 * GIB, "RTX3080": 9.8 * GIB,
    "RTX2080Ti": 10.8 * GIB, "A40": 44.4 * GIB, "RTX6000Ada": 47.5 * GIB, "H100-80": 79.1 * GIB,
    "A100": 79.1 * GIB, "RTX-PRO-6000": 95.0 * GIB, "A10": 22.1 * GIB, "A10G": 22.1 * GIB, "L4": 22.0 * GIB,
    "P100": 15.9 * GIB, "RTX4080": 15.7 * GIB, "RTX5090": 31.4 * GIB, "V100": 31.7 * GIB, "L20": 44.5 * GIB,
    "L40": 44.4 * GIB, "A30": 23.6 * GIB, "RTX3060": 11.8 * GIB, "RTX4070": 11.7 * GIB,
    "RTX5000Ada": 31.5 * GIB, "RTX-A5000": 23.7 * GIB, "RTX-A4000": 15.7 * GIB, "TITAN-RTX": 23.6 * GIB,
    "GH200": 94.5 * GIB, "H800-80": 79.1 * GIB, "MI250": 64.0 * GIB, "RTX8000": 47.5 * GIB,
}  # fmt: skip
#: Frameworks that train the 16-bit weights they load, without an fp32 copy, where nothing shards them.
PURE = (
    "ms-swift",
    "axolotl",
    "trl",
    "unsloth",
    "peft",
    "llama-factory",
    "torchtune",
    "arctic-training",
)
#: Share of a card that verl's rollouts, which run on the trainer's, keep (verl, trainer/config:
#: gpu_memory_utilization 0.5, of which the weights and graphs stay).
ENGINE = 0.4
#: Frameworks whose norms and rotary embedding are kernels of their own.
FUSED = ("unsloth", *MEGATRON)
#: Trainers whose FSDP keeps frozen weights in fp32 too: prime-rl as torchtitan does, llama-recipes as it
#: names no dtype when it loads them (finetuning.py).
WIDE = ("prime-rl", "llama-recipes")
#: Bytes of both moments of a parameter, by words of the column: of fp32, and of 16-bit weights.
MOMENTS = {"8bit": (2.0, 2.0), "4bit": (1.0, 1.0), "paged": (2.0, 2.0), "sgd": (0.0, 0.0),
           "adafactor": (0.1, 0.1), "lion": (4.0, 2.0), "muon": (5.0, 5.0), "galore": (2.0, 2.0),
           "anyprecision": (4.0, 4.0)}  # fmt: skip
#: Models from this size on are started with one sequence, and with checkpointing.
LARGE = 10e9
#: From this month on the update of the default AdamW of transformers' Trainer is one kernel
#: (training_args.py: default_optim, "adamw_torch_fused" with PyTorch 2.8). Megatron-LM's always was.
FUSED_UPDATE, TRAINER = "2025-10", ("transformers", "trl", "peft")
#: Samples that are padded to the longest of a batch seldom reach a limit beyond this; so much of it counts.
SHORT, BEYOND = 1024, 0.5


#: Models whose own code leaves logits in 16 bits: the first Qwen's (modeling_qwen.py). DeepSpeed's fp16
#: engine, as its scripts have it, does not widen them; autocast to bf16 does.
NARROW = re.compile(r"(?:^|/)Qwen-")
#: Routed experts among the targets of adapters.
EXPERTS = re.compile(r"(?<!shared_)experts?\b(?!_)")


@dataclass(frozen=True)
class Stated:
    """The runs that a row may state with their chances, the likeliest first, the memory of its cards in bytes
    (None: not named), and their cluster."""

    runs: tuple[tuple[float, Run], ...]
    memory: float | None
    cluster: Cluster | None

    @property
    def run(self) -> Run:
        return self.runs[0][1]


def stated(row: TuningRow) -> Stated:
    """The runs that a row may state, and its card. Raises Unusable."""
    model = model_of(row.model)
    memory, cluster = _card(row)
    large = parameters.total(model[0]) > LARGE
    runs = [(chance, _run(each, model)) for chance, each in completed(row, large)]
    runs.sort(key=lambda each: -each[0])
    engine = ENGINE if row.framework == "verl" and row.method == "grpo-trainer" else 0.0
    memory = memory and memory * (1 - engine)
    return Stated(tuple(runs), memory, cluster)


def _run(row: TuningRow, found: tuple[Model, float, bool]) -> Run:
    """The run of a row that leaves nothing open."""
    model, other, _ = found
    tune = _tune(row)
    layout = _layout(row, int(row.gpus or 1))
    tokens, batch = _tokens(row), row.micro_batch or 1
    if not 1 <= tokens <= 1e8 or not 1 <= batch <= 1e6:
        raise Unusable(f"{tokens:g} tokens x {batch:g} sequences")
    states = _states(row, layout)
    targets = row.lora_targets.lower()
    return Run(
        model=model,
        tune=tune,
        adapters=_adapters(row),
        expert_adapters=tune != "full" and EXPERTS.search(targets) is not None,
        quantized=_quantized(row, tune),
        quantizes_experts=row.framework in ("axolotl", "unsloth", "ms-swift"),
        embeddings=tune != "full" and "embed" in targets,
        states=states,
        moment_bytes=_moments(row, states, tune),
        fused_update=_fused_update(row),
        seq_len=int(tokens),
        micro_batch=int(batch),
        checkpointing=bool(row.gradient_checkpointing),
        fp8=row.precision in ("fp8", "nvfp4", "mxfp8"),
        frozen_bytes=_frozen_bytes(row, layout),
        reduce_bytes=4.0 if row.framework == "prime-rl" else 2.0,
        fused_loss=_fused_loss(row),
        narrow_loss=row.precision == "fp16" and NARROW.search(row.model) is not None,
        flash=row.attention not in ("eager", "unfused"),
        fused_kernels=row.framework.startswith(FUSED) or row.fused_ce == 1,
        reference=row.method == "dpo" and tune == "full",
        pairs=row.method in ("dpo", "orpo", "kto"),
        other_parameters=other,
        layout=layout,
    )


def _tokens(row: TuningRow) -> float:
    """Tokens of a sequence that count."""
    tokens = row.seq_len or 0.0
    if row.packed == 0:
        return min(tokens, SHORT) + BEYOND * max(0.0, tokens - SHORT)
    return tokens


def _fused_update(row: TuningRow) -> bool:
    if row.framework in TRAINER:
        return row.date >= FUSED_UPDATE
    return row.framework.startswith(MEGATRON)


def _frozen_bytes(row: TuningRow, layout: Layout) -> int:
    """Bytes of a frozen weight as loaded: NeMo's are in fp8 where its products are (MLPerf 4.0,
    llama2_70b_lora, conf/megatron_gpt_peft_tuning_config.yaml: fp8_params)."""
    if row.framework.startswith("nemo") and row.precision == "fp8":
        return 1
    if row.framework in TRAINER and _quantized(row, _tune(row)) in ("nf4", "int8"):
        # Prepared for training, what is not quantized is fp32 (peft, utils/other.py:
        # prepare_model_for_kbit_training).
        return 4
    return 4 if row.framework in WIDE and layout.sharding == "fsdp" else 2


def _tune(row: TuningRow) -> Tune:
    match row.tune.lower():
        case "full" | "lora" | "qlora" as tune:
            return tune
        case "freeze" | "" as other:
            raise Unusable(f"tune is `{other}`" if other else "what is tuned is not stated")
    raise Unusable(f"unknown tune `{row.tune[:40]}`")


def _quantized(row: TuningRow, tune: Tune) -> Quantized:
    quant = row.quant.lower()
    if tune == "full":
        return "none"
    if "int4" in quant or "awq" in quant or "gptq" in quant:
        return "int4"
    if "8" in quant:
        return "int8"
    if "4" in quant or tune == "qlora":
        return "nf4"
    return "none"


def _adapters(row: TuningRow) -> Adapters:
    words = row.lora_targets.lower()
    inner = ("gate", "up_proj", "w1", "fc1", "linear", "mlp", "down")
    only = words and not any(word in words for word in inner)
    rank = int(row.lora_rank or 16)
    if not 1 <= rank <= 10**5:
        raise Unusable(f"rank {rank}")
    return Adapters(rank=rank, targets="attention" if only else "linear")


def _card(row: TuningRow) -> tuple[float | None, Cluster | None]:
    """Memory of a card and the cluster of its maker; None where the row names none."""
    name = row.gpu
    if not name:
        size = row.gpu_mem_gb
        return (size * 0.985 * GIB if size else None), None
    known = GPUS.get(name) or (name if name in HOME else None)
    cluster = None
    try:
        if known is not None:
            gpu = std_gpu(known)
            cluster = std_cluster(HOME[known]).model_copy(update={"gpu": gpu})
            return float(gpu.memory), cluster
        if name not in MEMORY:
            return float(std_gpu(name).memory), None
    except (JobError, KeyError):
        pass
    if name in MEMORY:
        return MEMORY[name], None
    sized = re.search(r"(\d{1,3})(?:gb)?$", name, re.IGNORECASE)
    if row.gpu_mem_gb or (sized and "-" in name):
        return (row.gpu_mem_gb or float(sized[1] if sized else 0)) * 0.985 * GIB, None
    raise Unusable(f"unknown gpu `{name[:40]}`")


def _layout(row: TuningRow, gpus: int) -> Layout:
    words = [word.strip().lower() for word in row.parallel.split(",") if word.strip()]
    degrees: dict[str, int] = {}
    for word in words:
        if (match := re.fullmatch(r"(tp|pp|cp|ep|etp|vpp|dp|sp)=(\d{1,6})", word)) is not None:
            degrees[match[1]] = max(1, int(match[2]))
        elif word not in SHARDINGS:
            raise Unusable(f"unknown layout `{word[:40]}`")
    named = [word for word in words if "=" not in word]
    tp, pp, cp = (degrees.get(name, 1) for name in ("tp", "pp", "cp"))
    dp = max(1, gpus // (tp * pp * cp))
    megatron = row.framework.startswith(MEGATRON) or (bool(degrees) and not named)
    sharding: Sharding = "zero1" if megatron else "none"
    for word in named:
        sharding = SHARDINGS[word]
    spread = 1
    if "device_map" in words:
        spread = max(1, gpus // (2 if "ddp" in words else 1)) if "ddp" not in words else 2
    shards = 1 if sharding == "none" else dp * cp
    offload = OFFLOADS.get(row.offload, "none")
    return Layout(
        sharding=sharding,
        sharded=shards,
        tp=tp,
        pp=pp,
        cp=cp,
        ep=degrees.get("ep", 1),
        offload=offload,
        layers_over=spread,
        replicas=1 if spread > 1 else dp if sharding == "none" else 1,
    )


OFFLOADS: dict[str, Offload] = {"optimizer": "optimizer", "params": "params", "all": "all"}
SHARDINGS: dict[str, Sharding] = {
    "none": "none", "ddp": "none", "device_map": "none", "zero0": "none", "zero1": "zero1", "zero2": "zero2",
    "zero3": "zero3", "fsdp": "fsdp", "fsdp1": "fsdp", "fsdp2": "fsdp", "hsdp": "fsdp", "ulysses": "none",
    "zero++": "zero3",
}  # fmt: skip


def _states(row: TuningRow, layout: Layout) -> States:
    if layout.tp * layout.pp * layout.cp > 1 or row.framework.startswith(MEGATRON):
        return "wide_gradients"
    if layout.sharding.startswith("zero"):
        return "main_copy"
    if layout.sharding == "fsdp":
        if row.framework == "llama-recipes" and row.precision == "bf16":
            # configs/fsdp.py: `pure_bf16`; its mixed precision is on where nothing is said.
            return "half"
        return "half" if row.framework in ("axolotl", "torchtune") else "fp32"
    if row.precision == "fp32":
        return "fp32"
    return "half" if row.framework in PURE or row.tune != "full" else "fp32"


def _moments(row: TuningRow, states: States, tune: Tune) -> float:
    wide = states != "half" or tune != "full"
    for word, (of_fp32, of_16) in MOMENTS.items():
        if word in row.optimizer.lower():
            return of_fp32 if wide else of_16
    return 8.0 if wide else 4.0


def _fused_loss(row: TuningRow) -> bool:
    if row.fused_ce is not None:
        return row.fused_ce > 0
    # prime-rl fuses the loss of its reinforcement learning alone.
    fused = row.framework == "prime-rl" and row.method != "sft"
    return fused or row.framework in ("unsloth", "arctic-training")

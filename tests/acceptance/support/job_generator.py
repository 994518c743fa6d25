"""A seed -> job files as text: every kind of model, 1 to 4,096 GPUs in pods, conditions at random.

`python tests/acceptance/support/job_generator.py TARGET SEED NUMBER` prints one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

#: Settings of a block, in writing order.
Settings = dict[str, Any]

KINDS = {
    "megatron": ("dense", "grouped", "experts", "latent", "latent_experts"),
    "deepspeed": ("dense", "grouped"),
    "deepspeed-hf": ("dense", "grouped", "grouped"),
    "torchtitan": ("dense", "grouped", "grouped", "experts", "latent", "latent_experts"),
    "torchtitan-0.3": ("dense", "grouped", "grouped", "experts"),
}
#: What a batch script starts.
OF_SLURM = ("megatron", "deepspeed", "torchtitan")
VOCABULARIES = (50257, 32000, 32001, 64793, 100_003, 128_256, 129_280, 151_936, 152_064, 250_880)
#: GPU kind -> GPUs of a node, and of the domain of its fast link.
NODES = {
    "a100_80": ((1, 2, 4, 8), None),
    "h100_sxm": ((2, 4, 8, 8, 8), None),
    "h200": ((8,), None),
    "b200": ((8,), None),
    "gb200": ((4,), 72),
    "mi300x": ((8,), None),
}
MEMORY = {"a100_80": 80, "h100_sxm": 80, "h200": 141, "b200": 180, "gb200": 186, "mi300x": 192}
SEQUENCES = (
    1024,
    2048,
    2048,
    3072,
    4096,
    4096,
    4096,
    6144,
    8192,
    8192,
    16384,
    32768,
    65536,
    131072,
    262144,
)
#: Conditions that send the solver into the corners of a space.
CONDITIONS = {
    "megatron": (
        "require tp >= 2", "require tp in {4, 8}", "require pp >= 2", "require pp >= 4", "require vpp >= 2",
        "require cp >= 2", "require zero == 0", "require zero == 1", "require zero == 2", "require zero == 3",
        "require recompute == full", "forbid recompute == full", "require recompute == selective",
        "require micro_batch >= 2", "require pp in {3, 5, 6, 7}", "require microbatches >= 2 * pp",
        "require recompute_layers >= 1",
    ),
    "deepspeed": (
        "require pp >= 2", "require pp in {3, 5}", "require cp >= 2", "require zero == 0",
        "require zero == 1", "require zero == 2", "require zero == 3", "require offload != none",
        "require offload == all",
        "require hpz >= 2", "require recompute == full", "require recompute == selective",
        "require micro_batch >= 2",
    ),
    "deepspeed-hf": (
        "require tp >= 2", "require tp in {2, 4}", "require tp in {3, 5, 6}", "require tp >= 8",
        "require zero == 0", "require zero == 1", "require zero == 2", "require zero == 3",
        "require offload != none", "require offload == all", "require hpz >= 2", "require recompute == full",
        "require micro_batch >= 2",
    ),
    "torchtitan": (
        "require tp >= 2", "require pp >= 2", "require vpp >= 2", "require pp >= 4", "require cp >= 2",
        "require dp_replicate >= 2", "require zero == 2", "require zero == 3", "require recompute == full",
        "require recompute == selective", "require micro_batch >= 2", "require pp in {3, 5, 6}",
    ),
}  # fmt: skip
#: Further settings that both releases of torchtitan know.
EXTRA = (
    '"comm.train_timeout_seconds" = 300', '"checkpoint.keep_latest_k" = 3', '"training.gc_freq" = 100',
    '"metrics.enable_tensorboard" = true', '"debug.deterministic" = true',
    '"parallelism.context_parallel_load_balancer" = "headtail"',
)  # fmt: skip
#: Further keys of ds_config.json that every layout reads.
DEEPSPEED_EXTRA = (
    '"gradient_predivide_factor" = 2.0', '"prescale_gradients" = true', '"wall_clock_breakdown" = true',
    '"memory_breakdown" = true', '"zero_optimization.ignore_unused_parameters" = false',
    '"dump_state" = true',
    '"checkpoint.use_node_local_storage" = true', '"comms_logger.enabled" = true',
    '"flops_profiler.enabled" = true', '"dataloader_drop_last" = true', '"communication_data_type" = "fp32"',
    '"tensorboard.enabled" = false', '"csv_monitor.enabled" = false', '"compile.deepcompile" = false',
    '"zero_optimization.round_robin_gradients" = true', '"disable_python_gc" = true',
)  # fmt: skip
EXPERT_CONDITIONS = ("require ep >= 2", "require ep >= 4", "require etp >= 2")
OBJECTIVES = (
    "maximize mfu", "maximize mfu", "maximize tokens_per_second", "minimize step_time", "minimize memory",
    "minimize cost; maximize mfu",
)  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """One job's dice, and what it asks for: a target and its version, which is empty for the default, or `hf`
    for DeepSpeed with the Llama of transformers."""

    dice: Random
    target: str
    version: str

    def one(self, *choices: Any) -> Any:
        return self.dice.choice(choices)

    def happens(self, share: float) -> bool:
        return self.dice.random() < share


def job_text(target: str, seed: int, number: int) -> str:
    """The job file of that number, the same on every machine; for "slurm" of the targets in turn.

    A target may end in the version to write for, as in "torchtitan-0.3" and "deepspeed-hf".
    """
    dice = Random(f"{target} {seed} {number}")
    target = OF_SLURM[number % len(OF_SLURM)] if target == "slurm" else target
    draw = Draw(dice, *target.partition("-")[::2])
    gpu = draw.one(*NODES)
    cluster = _cluster(draw, gpu)
    kind = draw.one(*KINDS[target])
    model = _model(draw, kind, cluster["nodes"] * cluster["gpus_per_node"] * MEMORY[gpu] * 2**30)
    train = _train(draw, gpu, cluster)
    blocks = [
        block(f"model m{number}", model),
        block("cluster pods from std.dgx_h100", _written(cluster)),
        block("train", train),
        _goal(draw, kind),
        f"target {draw.target} {{ {'; '.join(_options(draw, model))} }}\n",
        block("launch slurm", _launch(draw)),
    ]
    return "".join(blocks)


def block(title: str, settings: Mapping[str, Any]) -> str:
    lines = "".join(f"  {name} = {_value(value)}\n" for name, value in settings.items())
    return f"{title} {{\n{lines}}}\n"


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cluster(draw: Draw, gpu: str) -> Settings:
    per_node, domain = NODES[gpu]
    gpus_per_node = draw.one(*per_node)
    most = 4096 // gpus_per_node
    nodes = draw.one(1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 384, 512, 1024)
    found: Settings = {"gpu": gpu, "nodes": min(nodes, most), "gpus_per_node": gpus_per_node}
    if domain:
        found["nvlink_domain"] = domain
    gpus = found["nodes"] * gpus_per_node
    if gpus >= 64 and draw.happens(0.5):
        found |= {"pod_gpus": gpus // draw.one(2, 4), "pod_network": "25 GB/s"}
    return found | {"node_memory": draw.one("512 GiB", "2 TiB"), "cpu_cores": draw.one(48, 96, 128)}


def _written(cluster: Settings) -> Settings:
    return cluster | {"gpu": f"std.{cluster['gpu']}"}


def _model(draw: Draw, kind: str, cluster_bytes: int) -> Settings:
    """Sizes of a model whose states take a part of the cluster; tried until they do, at most 50 times."""
    for _ in range(50):
        found = _sizes(draw, kind)
        if 20 * _roughly(found) < draw.dice.uniform(0.05, 0.7) * cluster_bytes:
            break
    return found | _style(draw, found)


def _sizes(draw: Draw, kind: str) -> Settings:
    head_dim = draw.one(64, 64, 96, 128, 128)
    heads = draw.one(4, 8, 12, 16, 20, 24, 32, 32, 40, 48, 64, 64, 96, 128)
    hidden = heads * head_dim
    found: Settings = {
        "layers": draw.one(
            draw.dice.randint(1, 24), draw.dice.randint(8, 96), 12, 24, 32, 61, 80, 126
        ),
        "hidden": hidden,
        "heads": heads,
        "ffn": draw.one(
            4 * hidden, draw.one(2, 3, 7) * hidden // 2, 64 * draw.dice.randint(4, 400)
        ),
        "vocab": draw.one(*VOCABULARIES, draw.dice.randint(1000, 200_000)),
    }
    if kind in ("grouped", "experts"):
        found["kv_heads"] = draw.one(*(k for k in range(1, heads + 1) if heads % k == 0))
        if draw.happens(0.2):
            found["head_dim"] = draw.one(64, 128, 192)
    if kind in ("experts", "latent_experts"):
        found |= _experts(draw, kind, found)
    if kind in ("latent", "latent_experts"):
        found |= _latent(draw)
    return found


def _experts(draw: Draw, kind: str, sizes: Settings) -> Settings:
    experts = draw.one(4, 8, 8, 16, 24, 32, 60, 64, 128)
    found: Settings = {
        "experts": experts,
        "topk": min(experts, draw.one(1, 2, 2, 4, 6, 8)),
        "expert_ffn": draw.one(64 * draw.dice.randint(4, 64), sizes["ffn"]),
    }
    found["shared_experts"] = draw.one(0, 0, 1, 2)
    if draw.happens(0.4) and (draw.target == "megatron" or kind == "latent_experts"):
        found["dense_layers"] = min(draw.one(1, 3), sizes["layers"] - 1)
    return found


def _latent(draw: Draw) -> Settings:
    return {
        "q_lora_rank": draw.one(0, 256, 768, 1536),
        "kv_lora_rank": draw.one(128, 512),
        "qk_nope_head_dim": draw.one(64, 128),
        "qk_rope_head_dim": draw.one(32, 64),
        "v_head_dim": draw.one(64, 128),
    }


def _roughly(model: Settings) -> int:
    """Parameters, near enough to compare with a cluster's memory."""
    hidden, layers = model["hidden"], model["layers"]
    width = model.get("expert_ffn", 0) * model.get("experts", 0) or model["ffn"]
    return int(layers * (4 * hidden**2 + 3 * hidden * width) + 2 * model["vocab"] * hidden)


def _style(draw: Draw, sizes: Settings) -> Settings:
    """What is not a size; torchtitan's models have few choices."""
    latent, experts = "kv_lora_rank" in sizes, "experts" in sizes
    found: Settings = {"rope_theta": draw.one(10_000, 500_000, 1_000_000)}
    if draw.version == "hf":
        return found | {"tied": draw.happens(0.15), "bias": draw.happens(0.2)}
    if not latent and draw.happens(0.2):
        found["qk_norm"] = True
    if draw.happens(0.15) and not latent:
        found["tied"] = True
    if draw.target == "torchtitan":
        return found
    if draw.happens(0.3):
        found |= {"norm": "layernorm", "gated": False, "activation": "gelu"}
        found["bias"] = draw.happens(0.5)
        found["position"] = draw.one("rope", "learned") if not latent else "rope"
    elif draw.happens(0.2):
        found["qkv_bias"] = not latent
    if draw.happens(0.1) and not experts and not latent:
        found["window"] = draw.one(1024, 4096)
    if draw.target == "deepspeed" and draw.happens(0.15):
        found["activation"] = draw.one("relu", "squared_relu", "gelu", "silu")
    if draw.target == "megatron" and draw.happens(0.15) and found.get("position") != "learned":
        found["mtp_layers"] = 1
    return found


def _train(draw: Draw, gpu: str, cluster: Settings) -> Settings:
    gpus = cluster["nodes"] * cluster["gpus_per_node"]
    batch = draw.one(
        gpus * draw.one(1, 2, 3, 4, 8, 16),
        draw.one(48, 64, 96, 120, 256, 512, 1000, 1536, 2048, 4096),
    )
    found: Settings = {"seq_len": draw.one(*SEQUENCES), "global_batch": batch}
    found |= draw.one({"steps": 1000}, {"tokens": "15T"})
    found["precision"] = _precision(draw, gpu)
    found["learning_rate"] = draw.one("3e-4", "1e-4", "6e-5")
    found["schedule"] = draw.one("cosine", "linear", "constant")
    found["warmup"] = draw.one(0, 100, 2000) if "tokens" in found else draw.one(0, 100)
    found["clip_grad"] = draw.one(1, 1, 0)
    if draw.target == "torchtitan":
        if draw.happens(0.15):
            found["seq_len"] = draw.one(1000, 3000, 4100, 5120, 12_288, 98_304, 100_000)
        return found | {"compile": draw.happens(0.3)}
    found["optimizer"] = draw.one("adam", "adam", "adam", "sgd")
    found["dropout"] = 0 if draw.version == "hf" else draw.one(0, 0, "0.1")
    if draw.target == "deepspeed":
        found["compile"] = draw.happens(0.2)
    if draw.happens(0.1) and found["seq_len"] <= 4096:
        found["attention"] = "unfused"
    return found


def _precision(draw: Draw, gpu: str) -> str:
    choices = {
        "megatron": ("bf16", "bf16", "bf16", "fp16", "fp8", "mxfp8"),
        "deepspeed": ("bf16", "bf16", "fp16"),
        "torchtitan": ("bf16",) if draw.version else ("bf16", "bf16", "bf16", "fp8", "mxfp8"),
    }[draw.target]
    chosen: str = draw.one(*choices)
    if chosen in ("fp8", "mxfp8") and gpu == "a100_80":
        return "bf16"
    return "fp8" if chosen == "mxfp8" and gpu not in ("b200", "gb200") else chosen


def _goal(draw: Draw, kind: str) -> str:
    conditions: Sequence[str] = CONDITIONS.get(
        f"{draw.target}-{draw.version}", CONDITIONS[draw.target]
    )
    if "experts" in kind:
        conditions = (*conditions, *EXPERT_CONDITIONS)
    count = draw.one(0, 1, 1, 1, 2, 2, 3)
    lines = [draw.one(*OBJECTIVES), *draw.dice.sample(conditions, count)]
    if draw.happens(0.5):
        lines.append("require memory <= 92%")
    return "goal {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _options(draw: Draw, model: Settings) -> list[str]:
    if draw.target == "torchtitan":
        return _torchtitan(draw, model)
    if draw.target == "deepspeed":
        return _deepspeed(draw)
    choices: dict[str, tuple[str, ...]] = {
        "megatron": (
            'data = "/data/c4_text_document"',
            'tokenizer = "meta-llama/Meta-Llama-3-8B"',
            "save = false",
        ),
    }
    return [each for each in [draw.one("", *choices[draw.target])] if each]


def _deepspeed(draw: Draw) -> list[str]:
    found = ["model = hf"] if draw.version else []
    settings = [
        "accumulate = compute", 'adam = "torch"', 'data = "/data/tokens.bin"', "log_interval = 10",
        'save = "runs/one"',
    ]  # fmt: skip
    found += draw.dice.sample(settings, draw.one(0, 1, 1, 2))
    if draw.happens(0.3):
        found.append(f"extra = {{ {draw.one(*DEEPSPEED_EXTRA)} }}")
    return found


def _torchtitan(draw: Draw, model: Settings) -> list[str]:
    found = [f'version = "{draw.version}"'] if draw.version else []
    settings = ["log_freq = 1", 'data = "/data/c4"', 'checkpoint = "steps"']
    if not {"kv_lora_rank", "experts", "head_dim", "qk_norm", "tied"} & set(model):
        settings.append("rope_scaling = 8")
    if "experts" in model:
        settings += ["router = sigmoid; router_scale = 2.5", "router_norm = false"]
        if model["experts"] % 4 == 0 and model["experts"] > 4 and model["topk"] <= 4:
            settings.append("router_groups = 4; router_limited_groups = 2")
    found += draw.dice.sample(settings, draw.one(0, 0, 1, 2))
    if draw.happens(0.3):
        found.append(f"extra = {{ {draw.one(*EXTRA)} }}")
    return found


def _launch(draw: Draw) -> Settings:
    found: Settings = {"time": draw.one("30 min", "4 h", "48 h", "14 d"), "requeue": draw.one(0, 3)}
    if draw.happens(0.5):
        found["partition"] = '"train"'
    if draw.happens(0.2):
        found["account"] = '"llm"'
    if draw.happens(0.3):
        found["gpu_request"] = draw.one("gres", '"gpus-per-node"')
    if draw.happens(0.2):
        found["gpu_type"] = '"accelerator"'
    if draw.happens(0.2):
        found["exclusive"] = False
    found["signal"] = draw.one("0 s", "600 s", "120 s")
    return found


if __name__ == "__main__":
    print(job_text(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

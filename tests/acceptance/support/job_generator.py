"""A seed -> job files as text: every kind of model, 1 to 4,096 GPUs in pods, conditions at random.

`python tests/acceptance/support/job_generator.py TARGET SEED NUMBER` prints one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from random import Random
from typing import Any

from parc.backends import BACKENDS
from parc.backends.released_options import released_options
from tests.acceptance.support import drawn_stack, megatron_settings
from tests.acceptance.support.drawn_goals import goal
from tests.acceptance.support.drawn_job import Draw, Settings
from tests.acceptance.support.drawn_models import (
    LLAMA_LACKS,
    OLDEST_MEGATRON_LACKS,
    TORCHTITAN_LACKS,
    drawn_model,
)
from tests.acceptance.support.varied_settings import (
    changed_numbers,
    more_launch,
    more_model,
    more_options,
    more_train,
)

#: At least; a batch of 4,096 sequences of 262,144 tokens is trained for so long.
STEPS_OF_TOKENS = 10_000

KINDS = {
    "megatron": ("dense", "grouped", "experts", "latent", "latent_experts"),
    "deepspeed": ("dense", "grouped"),
    "deepspeed-hf": ("dense", "grouped", "grouped"),
    "torchtitan": ("dense", "grouped", "grouped", "experts", "latent", "latent_experts", "sinks"),
    "torchtitan-0.2.0": ("dense", "grouped", "grouped", "experts", "latent", "latent_experts"),
    "torchtitan-0.3": ("dense", "grouped", "grouped", "experts"),
}
#: What a batch script starts.
OF_SLURM = ("megatron", "deepspeed", "torchtitan")
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
#: Further settings of torchtitan, of which 0.2.0 knows fewer.
EXTRA = (
    '"comm.train_timeout_seconds" = 300', '"checkpoint.keep_latest_k" = 3', '"training.gc_freq" = 100',
    '"metrics.enable_tensorboard" = true', '"debug.deterministic" = true',
    '"parallelism.context_parallel_load_balancer" = "headtail"',
    '"checkpoint.exclude_from_loading" = "dataloader, lr_scheduler"',
)  # fmt: skip
#: Data of torchtitan: made up, by name, from files, and blends.
TORCHTITAN_DATA = (
    "synthetic", '"c4_test"', '"/data/some texts"', '"/data/it\'s.jsonl"', '"./données/$part.parquet"',
    '{ "c4_test" = 0.75; "/data/more.jsonl" = 0.25 }', '["/data/one", "/data/two"]',
)  # fmt: skip
#: Further keys of ds_config.json that every layout reads.
DEEPSPEED_EXTRA = (
    '"gradient_predivide_factor" = 2.0', '"prescale_gradients" = true', '"wall_clock_breakdown" = true',
    '"memory_breakdown" = true', '"zero_optimization.ignore_unused_parameters" = false',
    '"dump_state" = true',
    '"checkpoint.use_node_local_storage" = true', '"comms_logger.enabled" = true',
    '"flops_profiler.enabled" = true', '"dataloader_drop_last" = true',
    '"tensorboard.enabled" = false', '"csv_monitor.enabled" = false', '"compile.deepcompile" = false',
    '"zero_optimization.round_robin_gradients" = true', '"disable_python_gc" = true',
)  # fmt: skip


def job_text(target: str, seed: int, number: int) -> str:
    """The job file of that number, the same on every machine; for "slurm" of the targets in turn.

    A target may end in the version to write for, as in "torchtitan-0.2.0" and "megatron-0.14", or in "hf".
    """
    dice = Random(f"{target} {seed} {number}")
    target = OF_SLURM[number % len(OF_SLURM)] if target == "slurm" else target
    draw = Draw(dice, *target.partition("-")[::2])
    gpu = draw.one(*NODES)
    cluster = _cluster(draw, gpu)
    kind = draw.one(*KINDS.get(target, KINDS[draw.target]))
    model = drawn_model(
        draw, kind, cluster["nodes"] * cluster["gpus_per_node"] * MEMORY[gpu] * 2**30
    )
    train = _train(draw, gpu, cluster) | ({"precision": "bf16"} if kind == "sinks" else {})
    model |= more_model(dice, draw.target, model)
    if draw.version == "hf":
        model = {name: value for name, value in model.items() if name not in LLAMA_LACKS}
    if draw.target == "megatron" and draw.version:
        model = {name: value for name, value in model.items() if name not in OLDEST_MEGATRON_LACKS}
    if draw.target == "torchtitan":
        lacking = TORCHTITAN_LACKS.get(draw.version, ())
        model = {name: value for name, value in model.items() if name not in lacking}
    if "attention_softcap" in model:
        train["attention"] = "unfused"
    train |= more_train(dice, draw.target, train, train.get("steps", STEPS_OF_TOKENS))
    changed = changed_numbers(dice, "gpu", gpu)
    options = _options(draw, kind, gpu, model, train)
    saves = not {"save = false", "save = none"}.intersection(options)
    if saves and "checkpoint_interval" not in train and draw.happens(0.3):
        cluster |= _failures(draw)
    blocks = [
        block(f"gpu changed from std.{gpu}", changed) if changed else "",
        block(f"model m{number}", model),
        block("cluster pods from std.dgx_h100", _written(draw, cluster, bool(changed))),
        block("train", train),
        goal(draw, kind),
        f"target {draw.target} {{ {'; '.join(options)} }}\n",
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


def _failures(draw: Draw) -> Settings:
    """What decides the interval of checkpoints."""
    return {
        "gpu_mtbf": draw.one("50000 h", "1000000 h"),
        "storage_bandwidth": draw.one("2 GB/s", "1 TB/s"),
        "restart_time": draw.one("90 s", "10 min"),
        "checkpoint_space": draw.one("20 TB", "2000 TB"),
    }


def _written(draw: Draw, cluster: Settings, changed: bool) -> Settings:
    more = changed_numbers(draw.dice, "cluster", "dgx_h100")
    gpu = "changed" if changed else f"std.{cluster['gpu']}"
    return more | cluster | {"gpu": gpu}


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
        return found | _torchtitan_train(draw)
    found["optimizer"] = draw.one("adam", "adam", "adam", "sgd")
    found["dropout"] = 0 if draw.version == "hf" else draw.one(0, 0, "0.1")
    if draw.target == "deepspeed":
        found["compile"] = draw.happens(0.2)
        found |= _ramp(draw, found) if draw.happens(0.15) else {}
        if draw.happens(0.1) and draw.version == "hf":
            found["weights"] = '"/models/it\'s a llama"'
    if draw.target == "megatron":
        found |= megatron_settings.training(draw.dice, found)
    if draw.happens(0.1) and found["seq_len"] <= 4096:
        found["attention"] = "unfused"
    return found


def _ramp(draw: Draw, train: Settings) -> Settings:
    """A batch that grows in two to eight equal steps, over a part of the run."""
    batch = train["global_batch"]
    counts = [count for count in (2, 4, 8) if batch % count == 0]
    if not counts:
        return {}
    return {"ramp_from": batch // draw.one(*counts), "ramp_tokens": 20 * batch * train["seq_len"]}


def _torchtitan_train(draw: Draw) -> Settings:
    found: Settings = {"compile": draw.happens(0.3)}
    if draw.happens(0.25):
        found |= {"schedule": "wsd", "decay_style": draw.one("linear", "cosine", "sqrt")}
        found |= draw.one({}, {"decay_steps": 200})
    if draw.happens(0.3):
        found |= {"keep_checkpoints": draw.one(0, 2, 5), "async_checkpoints": draw.happens(0.5)}
    if draw.happens(0.2):
        found["collective_timeout"] = draw.one("20 min", "90 s")
    return found


def _precision(draw: Draw, gpu: str) -> str:
    choices = {
        "megatron": ("bf16", "bf16", "bf16", "fp16", "fp8", "mxfp8", "nvfp4"),
        "deepspeed": ("bf16", "bf16", "fp16"),
        "torchtitan": (
            ("bf16",) if draw.version == "0.3" else ("bf16", "bf16", "bf16", "fp8", "mxfp8")
        ),
    }[draw.target]
    chosen: str = draw.one(*choices)
    if chosen in ("fp8", "mxfp8", "nvfp4") and gpu == "a100_80":
        return "bf16"
    return "fp8" if chosen in ("mxfp8", "nvfp4") and gpu not in ("b200", "gb200") else chosen


def _options(draw: Draw, kind: str, gpu: str, model: Settings, train: Settings) -> list[str]:
    given = {"torchtitan": _torchtitan, "deepspeed": _deepspeed, "megatron": _megatron}
    found = given[draw.target](draw)
    if draw.target == "torchtitan":
        found += drawn_stack.torchtitan(draw.dice, draw.version, kind, gpu, train)
    if draw.target == "deepspeed":
        found += drawn_stack.deepspeed(draw.dice, draw.version, model, gpu, train)
    if draw.target == "megatron" and not draw.version:
        if train["precision"] == "nvfp4" or "kv_lora_rank" in model:
            found = [each for each in found if each != "tp_overlap = true"]
        found += megatron_settings.kernels(draw.dice, gpu, model, train, found)
    options = BACKENDS[draw.target].target.options
    return found + more_options(draw.dice, draw.target, options, found)


def _megatron(draw: Draw) -> list[str]:
    return _version(draw) + megatron_settings.options(draw.dice)


def _version(draw: Draw) -> list[str]:
    return [f'version = "{draw.version}"'] if draw.version else []


def _said(setting: str, before: list[str]) -> bool:
    """Whether the option was given already."""
    return setting.split(" =")[0] in (each.split(" =")[0] for each in before)


def _deepspeed(draw: Draw) -> list[str]:
    found = ["model = hf"] if draw.version == "hf" else _version(draw)
    settings = [
        "accumulate = compute", 'adam = "torch"', 'data = "/data/tokens.bin"', "log_interval = 10",
        'save = "runs/one"', "save = none", "valid_data = synthetic",
        'valid_data = "/data/valid.bin"; eval_interval = 50',
        'valid_data = { "/v/a" = 0.5; "/v/b c" = 1.5 }; eval_iters = 2',
    ]  # fmt: skip
    found += draw.dice.sample(settings, draw.one(0, 1, 1, 2))
    found = [setting for index, setting in enumerate(found) if not _said(setting, found[:index])]
    if draw.happens(0.3):
        found.append(f"extra = {{ {draw.one(*DEEPSPEED_EXTRA)} }}")
    return found


def _torchtitan(draw: Draw) -> list[str]:
    found = _version(draw)
    settings = [
        "log_interval = 1", 'checkpoint = "steps"', 'tensorboard = "tb"', 'wandb = "generated"',
        "profile_start = 10; profile_stop = 12", "save = false",
    ]  # fmt: skip
    found.append(f"data = {draw.one(*TORCHTITAN_DATA)}")
    if draw.happens(0.3):
        found.append(f"validation = {draw.one(*TORCHTITAN_DATA)}; eval_interval = 10")
    found += draw.dice.sample(settings, draw.one(0, 0, 1, 2))
    if draw.happens(0.3):
        known = released_options("torchtitan", draw.version or drawn_stack.NEWEST_TOML)
        extra = [each for each in EXTRA if each.split('"')[1] in known]
        found.append(f"extra = {{ {draw.one(*extra)} }}")
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
    return found | more_launch(draw.dice, found)


if __name__ == "__main__":
    print(job_text(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

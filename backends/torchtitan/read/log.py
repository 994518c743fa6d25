"""torchtitan's standard output -> `RunLog`: what its trainer says at the start, and its line of metrics."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ....compiler.plan import OFFLOAD, PASSES, RECOMPUTE
from ...log import Pace, RunLog, agreed, json_after, merged, number, plain
from .spelling import ORDERS

#: components/metrics.py:461 (torchtitan 0.2.2); tps is of one GPU.
LINE = re.compile(r"step:\s*(\d{1,15})\s+loss:.{0,400}?\btps:\s*(\d{1,3}(?:,\d{3})+|\d+)(?=\s)")
#: The most that was reserved since the line before it (components/metrics.py:69).
RESERVED = re.compile(r"step:\s*\d{1,15}\s+loss:.{0,400}?\bmemory:\s*(\d{1,6}\.\d+)GiB")
#: distributed/parallel_dims.py:130
MESH = re.compile(r"Building device mesh with parallelism: (.*)")
#: train.py:354
TRAINER = re.compile(
    r"Trainer is initialized with local batch size (\d{1,9}), global batch size (\d{1,9}), "
    r"gradient accumulation steps \d+, sequence length (\d{1,9})"
)
#: distributed/pipeline_parallel.py:211
PIPELINE = re.compile(
    r"Using pipeline schedule (\w+) with (\d{1,9}) microbatches and (\d{1,9}) stages"
)
#: distributed/activation_checkpoint.py:249
RECOMPUTED = re.compile(r"Applied (\w+) activation checkpointing")
#: models/*/infra/parallelize.py:147 and 269
OFFLOADED = "Applied CPU Offloading to the model"
COMPILED = "Compiling each TransformerBlock with torch.compile"
#: train.py:143; job_config.py:1031, when job.print_config is set.
MODEL_ARGS = re.compile(r"Building \w+ [^\s{]*?\s?with (?=\{)")
CONFIG = re.compile(r"Running with configs: (?=\{)")

#: train.py:174, whatever the layout: of the whole model.
PARAMETERS = re.compile(r"\bsize: (\d{1,3}(?:,\d{3}){0,5}) total parameters")

DEGREES = ("tp", "pp", "cp", "ep", "etp")
SIZES = {"layers": "n_layers", "hidden": "dim", "heads": "n_heads", "kv_heads": "n_kv_heads"}


def read_log(text: str) -> RunLog | None:
    """The run behind a log, or None when no line of it is torchtitan's."""
    text = plain(text)
    lines = LINE.findall(text)
    if not lines:
        return None
    mesh, clashes = agreed(re.findall(r"\b(\w+)=(\d{1,9})\b", " ".join(MESH.findall(text))))
    layout = _layout({name: int(value) for name, value in mesh.items()}, text)
    config = next(iter(json_after(text, CONFIG)), {})
    models = [_model(each) for each in json_after(text, MODEL_ARGS)]
    return RunLog(
        target="torchtitan",
        unit="tokens/s per GPU",
        paces=merged(Pace(int(step), number(rate)) for step, rate in lines),
        layout=layout,
        train=_train(text),
        model=next(iter(models), {}),
        stack=_stack(config),
        assumed=_assumed(layout, config),
        clashes=clashes + _several(text, models),
        reserved=max((number(found) * 2**30 for found in RESERVED.findall(text)), default=0)
        or None,
        parameters=int(sized[1].replace(",", "")) if (sized := PARAMETERS.search(text)) else None,
    )


def _several(text: str, models: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Values that the runs of one log announce differently."""
    said = {
        "local batch, global batch and sequence": TRAINER.findall(text),
        "recompute": [(mode,) for mode in RECOMPUTED.findall(text)],
        "schedule, micro-batches and stages": PIPELINE.findall(text),
    }
    found = ((name, " x ".join(words)) for name, all_of in said.items() for words in all_of)
    sizes = ((name, str(size)) for model in models for name, size in model.items())
    return agreed([*found, *sizes])[1]


def _layout(mesh: dict[str, int], text: str) -> dict[str, int]:
    """Layout by the mesh, the trainer and the pipeline; parallel_dims.py:54 gives the number of GPUs."""
    layout: dict[str, int] = {}
    if mesh.keys() >= {*DEGREES, "dp_replicate", "dp_shard"}:
        layout = {name: mesh[name] for name in DEGREES}
        layout["dp"] = mesh["dp_replicate"] * mesh["dp_shard"]
        layout["gpus"] = layout["dp"] * mesh["tp"] * mesh["pp"] * mesh["cp"]
        layout["dp_shard"] = mesh["dp_shard"]
        mode = next(iter(RECOMPUTED.findall(text)), "none")
        layout |= {"recompute": RECOMPUTE.index(mode)} if mode in RECOMPUTE else {}
        layout |= {"offload": OFFLOAD.index("all")} if OFFLOADED in text else {}
    if trainer := TRAINER.search(text):
        layout |= _batches(int(trainer[1]), layout.get("pp", 1), text)
    return layout


def _batches(local: int, pp: int, text: str) -> dict[str, int]:
    """A pipeline cuts the local batch into its micro-batches."""
    pipeline = PIPELINE.search(text)
    if pipeline is None or pp == 1:
        return {"micro_batch": local, "vpp": 1}
    return {
        "micro_batch": max(local // max(int(pipeline[2]), 1), 1),
        "vpp": max(int(pipeline[3]) // max(pp, 1), 1),
        **(
            {"order": PASSES.index(ORDERS[name])} if (name := pipeline[1].lower()) in ORDERS else {}
        ),
    }


def _train(text: str) -> dict[str, Any]:
    train: dict[str, Any] = {}
    if trainer := TRAINER.search(text):
        train = {"global_batch": int(trainer[2]), "seq_len": int(trainer[3])}
        train["compile"] = COMPILED in text
    return train


def _model(arguments: Mapping[str, Any]) -> dict[str, int]:
    found = {name: arguments.get(argument) for name, argument in SIZES.items()}
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _stack(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Traffic and precision of products by the whole configuration; None where the log does not print it."""
    if not config:
        return None
    overlap = _at(config, "parallelism", "enable_async_tensor_parallel")
    recipe = _at(config, "quantize", "linear", "float8", "recipe_name")
    found: dict[str, Any] = {"tp_overlap": overlap} if isinstance(overlap, bool) else {}
    return found | ({"fp8_recipe": recipe} if isinstance(recipe, str) else {})


def _at(values: Any, *keys: str) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _assumed(layout: Mapping[str, int], config: Mapping[str, Any]) -> dict[str, int]:
    """ZeRO stage by `fsdp_reshard_after_forward`, as `read.py` counts it; the log shows it only with its
    whole configuration."""
    if not layout.get("gpus"):
        return {}
    if layout["dp_shard"] * layout["cp"] == 1:
        return {"zero": 0}
    parallelism = config.get("parallelism")
    policy = parallelism.get("fsdp_reshard_after_forward") if isinstance(parallelism, dict) else ""
    if policy == "always":
        return {"zero": 3}
    return {"zero": 1 if layout["pp"] > 1 else {"never": 2}.get(str(policy), 3)}

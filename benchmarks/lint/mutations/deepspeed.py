"""Wrong edits of the files that parc writes for DeepSpeed."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from benchmarks.lint.mutations.mutation import Files, Mutated, Mutation, misspelt, pick


def _config(files: Files) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files[pick(files, "ds_config.json")])
    return found


def _with(files: Files, config: dict[str, Any], what: str) -> Mutated:
    return {**files, pick(files, "ds_config.json"): json.dumps(config, indent=2) + "\n"}, what


def zero_key_misspelt(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    sections = [
        name for name in ("zero_optimization", "bf16") if isinstance(config.get(name), dict)
    ]
    section = config[chance.choice(sections)]
    key = chance.choice(sorted(section))
    wrong = misspelt(key, chance)
    if wrong in section:
        return None
    section[wrong] = section.pop(key)
    return _with(files, config, f"{key} as {wrong}")


def batch_product(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    keys = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"]
    key = chance.choice(keys)
    config[key] = config[key] * chance.choice([2, 3]) + chance.choice([0, 1])
    return _with(files, config, f"{key} {config[key]}")


def no_batch(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    for key in ("train_batch_size", "train_micro_batch_size_per_gpu"):
        config.pop(key, None)
    return _with(files, config, "no batch")


def wrong_stage(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    config.setdefault("zero_optimization", {})["stage"] = chance.choice([4, 5, -1, "three"])
    return _with(files, config, f"stage {config['zero_optimization']['stage']}")


def wrong_value(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    section = config.get("zero_optimization", {})
    keys = sorted(
        key for key, value in section.items() if isinstance(value, bool | int) and key != "stage"
    )
    if not keys:
        return None
    key = chance.choice(keys)
    section[key] = (
        "maybe" if isinstance(section[key], bool) else chance.choice(["many", "5e8x", 0.5])
    )
    return _with(files, config, f"{key} {section[key]}")


def both_halves(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    config["fp16"] = {"enabled": True}
    config["bf16"] = {"enabled": True}
    return _with(files, config, "fp16 and bf16")


def nested_section(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    name = chance.choice(["aio", "optimizer", "activation_checkpointing", "gradient_clipping"])
    config.setdefault("zero_optimization", {})[name] = config.pop(name, {"block_size": 1})
    return _with(files, config, f"{name} inside zero_optimization")


def doubled_key(files: Files, chance: random.Random) -> Mutated:
    path = pick(files, "ds_config.json")
    lines = files[path].split("\n")
    rows = [
        index
        for index, line in enumerate(lines)
        if re.match(r'  "\w+": [^{\[]', line) and line.endswith(",")
    ]
    index = chance.choice(rows)
    return {
        **files,
        path: "\n".join([*lines[: index + 1], *lines[index:]]),
    }, f"twice {lines[index].strip()}"


def quoted_number(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    key = chance.choice(
        ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"]
    )
    config[key] = str(config[key])
    return _with(files, config, f'{key} "{config[key]}"')


def batch_below_one(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    key = chance.choice(
        ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"]
    )
    config[key] = chance.choice([0, -1, 1.5])
    return _with(files, config, f"{key} {config[key]}")


def wrong_device(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    section = chance.choice(["offload_optimizer", "offload_param"])
    zero = config.setdefault("zero_optimization", {})
    zero["stage"] = 3
    zero[section] = {"device": chance.choice(["gpu", "disk", "host"])}
    return _with(files, config, f"{section} {zero[section]}")


def stage_of_pipeline(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    model = json.loads(files[pick(files, "model.json")])
    if len(model.get("stage_layers", [1])) < 2:
        return None
    config["zero_optimization"]["stage"] = chance.choice([2, 3])
    return _with(files, config, f"stage {config['zero_optimization']['stage']} with a pipeline")


def removed_section(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    name = chance.choice(
        ["sparse_gradients", "amp", "elasticity", "eigenvalue", "curriculum_learning"]
    )
    config[name] = {"enabled": True}
    return _with(files, config, f"with {name}")


def other_world(files: Files, chance: random.Random) -> Mutated:
    path = pick(files, "launch.sh")
    wrong = chance.choice([3, 5, 6, 7])
    given = re.search(r"^GPUS_PER_NODE=(\d+)", files[path], re.MULTILINE)
    match = re.search(r"GPUS_PER_NODE != (\d+)", files[path])
    if given is None or match is None or int(given[1]) == wrong:
        return None
    nodes = int(match[1]) // int(given[1])
    text = files[path].replace(given[0], f"GPUS_PER_NODE={wrong}", 1)
    text = re.sub(r"GPUS_PER_NODE != \d+", f"GPUS_PER_NODE != {nodes * wrong}", text)
    return ({**files, path: text}, f"{wrong} GPUs per node") if text != files[path] else None


def no_document(files: Files, chance: random.Random) -> Mutated:
    path = pick(files, "ds_config.json")
    text = files[path].rstrip()
    return {
        **files,
        path: chance.choice([text[:-1], text.replace(":", "", 1), "[" + text]),
    }, "no JSON"


def optimizer_unknown(files: Files, chance: random.Random) -> Mutated:
    config = _config(files)
    config["optimizer"] = {
        "type": chance.choice(["AdamWW", "Adamm", "FusedLamb2"]),
        "params": {"lr": 1e-4},
    }
    return _with(files, config, f"optimizer {config['optimizer']['type']}")


DEEPSPEED: tuple[Mutation, ...] = (
    zero_key_misspelt, zero_key_misspelt, zero_key_misspelt, batch_product, batch_product, no_batch,
    wrong_stage, wrong_value, wrong_value, both_halves, nested_section, doubled_key, quoted_number,
    batch_below_one, wrong_device, stage_of_pipeline, removed_section, other_world, no_document,
    optimizer_unknown,
)  # fmt: skip

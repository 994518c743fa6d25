"""The facts of a failure -> the launch files of a job that has them, in the form of its framework."""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks.lint.failure_facts import Facts
from parc.lint.facts.vocabulary import megatron_options

Files = dict[str, str]
_LLAMA_FACTORY = re.compile(r"\b(?:RANK|NNODES|NODE_RANK)=")


def files_of(framework: str, facts: Facts) -> Files:
    if any(line.startswith("#SBATCH") for line in facts.lines) or framework.startswith("slurm"):
        return _batch_files(facts)
    if framework.startswith("hf") or any(_LLAMA_FACTORY.match(line) for line in facts.lines):
        return _trainer_files(facts)
    if "torchtitan" in framework or "torchtitan" in facts.remarks or framework == "finetrainers":
        return _torchtitan_files(facts)
    if "deepspeed" in framework:
        return _deepspeed_files(framework, facts)
    return {"train.sh": _megatron_script(facts)}


def _launcher(facts: Facts) -> str:
    world = facts.numbers.get("world_seen", facts.get("world"))
    if "launcher=mpirun" in facts.remarks:
        return f"mpirun -np {world} python"
    per_node = next((size for size in (8, 4, 2, 1) if world % size == 0), 1)
    return f"torchrun --nnodes {world // per_node} --nproc-per-node {per_node}"


def _environment(facts: Facts) -> list[str]:
    """Variables as the failure has them, exported."""
    lines = [line for line in facts.lines if not line.startswith("#SBATCH")]
    lines = [f"export {line.removeprefix('export ')}" for line in lines]
    unset = re.findall(r"\b([A-Z][A-Z_]{4,}) unset", facts.remarks)
    needed = facts.get("tp") > 1 or facts.get("cp") > 1 or facts.get("sp") == 1
    if needed and "CUDA_DEVICE_MAX_CONNECTIONS" not in " ".join([*lines, *unset]):
        lines.append("export CUDA_DEVICE_MAX_CONNECTIONS=1")
    return lines


#: Quantity -> Megatron-LM's option.
OPTIONS = {
    "tp": "--tensor-model-parallel-size",
    "pp": "--pipeline-model-parallel-size",
    "cp": "--context-parallel-size",
    "vpp": "--num-virtual-stages-per-pipeline-rank",
    "layers_per_vstage": "--num-layers-per-virtual-pipeline-stage",
    "layers": "--num-layers",
    "hidden": "--hidden-size",
    "heads": "--num-attention-heads",
    "seq_len": "--seq-length",
    "mbs": "--micro-batch-size",
    "gbs": "--global-batch-size",
    "experts": "--num-experts",
    "ep": "--expert-model-parallel-size",
    "etp": "--expert-tensor-parallel-size",
    "vocab": "--padded-vocab-size",
    "recompute_num_layers": "--recompute-num-layers",
    "ulysses_sp": "--ds-sequence-parallel-size",
    "stage": "--zero-stage",
}


def _megatron_options(facts: Facts) -> dict[str, str]:
    """The options of a whole, legal job, with the failure's own numbers."""
    numbers = {"hidden": facts.get("heads") * 128, **facts.numbers}
    if "group" in numbers:
        numbers.setdefault("tp", numbers["group"])
    if numbers.get("sp") and "tp" not in numbers:
        numbers["tp"] = 2
    for name in ("layers", "heads", "seq_len", "mbs"):
        numbers.setdefault(name, facts.get(name))
    tp, pp, cp = (numbers.get(name, 1) for name in ("tp", "pp", "cp"))
    dp = max(numbers.get("world", 8) // max(tp * pp * cp, 1), 1)
    count = numbers.pop("microbatches", 64)
    numbers.setdefault("gbs", numbers["mbs"] * dp * count)
    found = {name: str(numbers[key]) for key, name in OPTIONS.items() if numbers.get(key)}
    found |= {
        "--max-position-embeddings": str(numbers["seq_len"]),
        "--train-iters": "1000",
        "--lr": "1e-4",
        "--tokenizer-type": "GPT2BPETokenizer",
    }
    if kv := numbers.get("kv_heads"):
        found |= {"--group-query-attention": "", "--num-query-groups": str(kv)}
    if numbers.get("sp"):
        found["--sequence-parallel"] = ""
    if method := facts.words.get("recompute_method"):
        found |= {"--recompute-granularity": "full", "--recompute-method": method}
    for name in ("fp16", "bf16"):
        if numbers.get(name):
            found[f"--{name}"] = ""
    if ramp := facts.words.get("rampup"):
        found["--rampup-batch-size"] = ramp
    return found | _named_options(facts)


def _named_options(facts: Facts) -> dict[str, str]:
    """Facts that are called like an option of Megatron-LM."""
    known, found = megatron_options(), {}
    for name, value in facts.words.items():
        option = known.get(f"--{name.replace('_', '-').lstrip('-')}")
        if option is not None and value.lower() != "false" and len(name) > 3:
            found[option.name] = "" if option.kind == "switch" else value
    return found


def _command(program: str, options: dict[str, str]) -> str:
    words = [f"{name} {value}".strip() for name, value in options.items()]
    return " \\\n    ".join([program, *words])


def _megatron_script(facts: Facts) -> str:
    options = _megatron_options(facts)
    options.pop("--zero-stage", None)
    options.pop("--ds-sequence-parallel-size", None)
    flags = dict.fromkeys(re.findall(r"(?<!no )--[a-z][a-z0-9-]+", facts.remarks), "")
    command = _command(f"{_launcher(facts)} pretrain_gpt.py", {**options, **flags})
    return "\n".join(["#!/bin/bash", *_environment(facts), command, ""])


#: Quantity -> key of a DeepSpeed config.
KEYS = {
    "gbs": "train_batch_size",
    "mbs": "train_micro_batch_size_per_gpu",
    "ga": "gradient_accumulation_steps",
}
#: Word for a quantity that a failure gives for the config -> where it stands there.
JSON = {
    "train_batch_size": "train_batch_size",
    "micro": KEYS["mbs"],
    "ga": KEYS["ga"],
    "stage": "zero_optimization.stage",
    "zero_stage": "zero_optimization.stage",
    "lr": "optimizer.params.lr",
    "fp16": "fp16.enabled",
    "bf16": "bf16.enabled",
}
_LITERALS: dict[str, Any] = {"true": True, "false": False, "{...}": {"block_size": 1048576}}


def _config(facts: Facts) -> dict[str, Any]:
    """The DeepSpeed config; words such as `zero_optimization.aio` say where they stand."""
    config: dict[str, Any] = {
        key: facts.numbers[name] for name, key in KEYS.items() if name in facts.numbers
    }
    for name, value in facts.words.items():
        prefix, _, quantity = name.partition("_")
        if prefix in ("ds", "json") and quantity in JSON:
            _put(config, JSON[quantity], _literal(value))
        elif value == "auto":
            _put(config, name, value)
    config |= _zero(facts)
    for name in ("fp16", "bf16"):
        for word in (name, f"ds_{name}", f"{name}.enabled"):
            if word in facts.words:
                config[name] = {
                    "enabled": _LITERALS.get(facts.words[word], _literal(facts.words[word]))
                }
    for name, value in facts.words.items():
        if "." in name and not name.endswith(".enabled"):
            section, _, key = name.partition(".")
            config.setdefault(section, {})[key] = _literal(value)
    config.update(
        {name: _literal(facts.words[name]) for name in ("betas", "lr") if name in facts.words}
    )
    return config


def _put(config: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    for section in sections:
        config = config.setdefault(section, {})
    config[key] = value


def _literal(value: str) -> Any:
    if value in _LITERALS:
        return _LITERALS[value]
    return int(value) if value.isdecimal() else value.strip('"')


def _zero(facts: Facts) -> dict[str, Any]:
    zero: dict[str, Any] = {"stage": facts.numbers["stage"]} if facts.given("stage") else {}
    for section in ("offload_optimizer", "offload_param"):
        if section in facts.words:
            zero[section] = {"device": facts.words[section]}
    for key in re.findall(r"\b(zero_[a-z_]+|stage3_[a-z0-9_]+|overlap_comm)\b", facts.remarks):
        if key not in ("zero_optimization", "zero_stage", "zero_force_ds_cpu_optimizer"):
            zero.setdefault(key, _literal(facts.words.get(key, "true")))
    return {"zero_optimization": zero} if zero else {}


#: Facts that only a model's script can have.
MODEL = ("tp", "pp", "cp", "heads", "layers", "seq_len", "ulysses_sp", "ep", "experts", "kv_heads")


def _deepspeed_files(framework: str, facts: Facts) -> Files:
    pipeline = "PipelineModule" in facts.remarks
    own = "megatron" in framework or "Megatron" in facts.remarks or "FusedAdam" in facts.remarks
    config = _config(facts)
    if pipeline:
        facts.numbers.setdefault("pp", 2)
    if not (own or facts.given(*MODEL)):
        config.setdefault("zero_optimization", {"stage": 0})
        command = f"{_launcher(facts)} train.py --deepspeed_config ds_config.json"
        return {"ds_config.json": json.dumps(config, indent=2), "launch.sh": f"{command}\n"}
    return _megatron_deepspeed_files(facts, config)


def _megatron_deepspeed_files(facts: Facts, config: dict[str, Any]) -> Files:
    options = _megatron_options(facts)
    if facts.get("pp") == 1 and "no --no-pipeline-parallel" not in facts.remarks:
        options["--no-pipeline-parallel"] = ""
    if "cli_zero_stage" in facts.words:
        options["--zero-stage"] = facts.words["cli_zero_stage"]
    if "experts" in facts.numbers or "ep" in facts.numbers:
        options["--moe-expert-parallel-size"] = options.pop("--expert-model-parallel-size", "1")
    batch = {
        KEYS["gbs"]: int(options["--global-batch-size"]),
        KEYS["mbs"]: int(options["--micro-batch-size"]),
    }
    config = {**batch, **config}
    options["--global-batch-size"] = str(config[KEYS["gbs"]])
    options["--micro-batch-size"] = str(config[KEYS["mbs"]])
    options |= {"--deepspeed": "", "--deepspeed_config": "ds_config.json"}
    command = _command(f"{_launcher(facts)} pretrain_gpt.py", options)
    return {
        "ds_config.json": json.dumps(config, indent=2),
        "launch.sh": "\n".join(["#!/bin/bash", *_environment(facts), command, ""]),
    }


def _trainer_files(facts: Facts) -> Files:
    """Hugging Face's Trainer under torchrun or accelerate, or LLaMA-Factory's own launcher."""
    lines = [line for line in facts.lines if "=" in line and " per " not in line]
    if lines:
        assigned = " ".join(re.sub(r"(\d)(?:\.\.|/)\d+$", r"\1", line) for line in lines)
        if "MASTER_ADDR differs" in facts.remarks:
            assigned += " MASTER_ADDR=$(hostname -i)"
        return {"run.sh": f"{assigned} MASTER_PORT=29500 llamafactory-cli train config.yaml\n"}
    options = {"--output_dir": "out"}
    cli = {
        "cli_micro": "--per_device_train_batch_size",
        "cli_ga": "--gradient_accumulation_steps",
        "cli_lr": "--learning_rate",
        "cli_bf16": "--bf16",
        "cli_fp16": "--fp16",
    }
    options |= {option: facts.words[name] for name, option in cli.items() if name in facts.words}
    if "hf_calculated" in facts.words:
        options["--per_device_train_batch_size"] = facts.words["hf_calculated"]
        facts.numbers.setdefault("world", 1)
    return {
        "ds_config.json": json.dumps(_config(facts), indent=2),
        "run.sh": _command(f"{_trainer(facts)} train.py --deepspeed ds_config.json", options)
        + "\n",
    }


def _trainer(facts: Facts) -> str:
    accelerate = {
        "mixed_precision": "--mixed_precision",
        "accelerate_ga": "--gradient_accumulation_steps",
    }
    given = [
        f"{option} {facts.words[name]}"
        for name, option in accelerate.items()
        if name in facts.words
    ]
    if not given:
        return _launcher(facts)
    return " ".join(["accelerate launch", f"--num_processes {facts.get('world')}", *given])


def _torchtitan_files(facts: Facts) -> Files:
    numbers = dict(facts.numbers)
    tp, pp, cp, ep = (numbers.get(name, 1) for name in ("tp", "pp", "cp", "ep"))
    shard = numbers.get("dp_shard", max(numbers.get("world", tp * pp * cp) // (tp * pp * cp), 1))
    if more := re.search(r"degrees product > (\d+)", facts.remarks):
        shard = int(more[1]) * 2
    local = numbers.get("gbs", 8) if facts.given("gbs", "microbatches") else 8
    if "gbs" not in numbers and "microbatches" in numbers:
        local = numbers["microbatches"]
    count = numbers.get("microbatches", local)
    toml = [
        "[model]", 'name = "llama3"', 'flavor = "reported"', "",
        "[training]", f"local_batch_size = {local}", f"seq_len = {numbers.get('seq_len', 8192)}", "",
        "[parallelism]", f"data_parallel_shard_degree = {shard}", f"tensor_parallel_degree = {tp}",
        f"pipeline_parallel_degree = {pp}", f"context_parallel_degree = {cp}",
        f"expert_parallel_degree = {ep}", f"pipeline_parallel_microbatch_size = {-(-local // count)}", "",
        "[experimental]", 'custom_import = "reported"', "",
    ]  # fmt: skip
    nodes_and_gpus = _launcher(
        Facts({**numbers, "world": numbers.get("world", shard * tp * pp * cp)})
    )
    lines = [*(f"export {line}" for line in facts.lines)]
    lines.append(f"{nodes_and_gpus} -m torchtitan.train --job.config_file train.toml")
    return {
        "train.toml": "\n".join(toml),
        "reported.py": _registered(numbers),
        "launch.sh": "\n".join(["#!/bin/bash", *lines, ""]),
    }


def _registered(numbers: dict[str, int]) -> str:
    heads = numbers.get("heads", 64)
    arguments: dict[str, int | str] = {
        "dim": heads * 128,
        "n_layers": numbers.get("layers", 48),
        "n_heads": heads,
        "n_kv_heads": numbers.get("kv_heads", heads),
    }
    if "experts" in numbers or "ep" in numbers:
        experts = numbers.get("experts", 64)
        arguments |= {"moe_enabled": True, "moe_args": f"MoEArgs(num_experts={experts}, top_k=2)"}
    words = ", ".join(f"{name}={value}" for name, value in arguments.items())
    return f'llama3_args["reported"] = TransformerModelArgs({words})\n'


#: Quantity -> directive of sbatch.
DIRECTIVES = {
    "nodes": "nodes",
    "ntasks": "ntasks",
    "tasks_per_node": "ntasks-per-node",
    "gpus_per_node": "gpus-per-node",
}


def _batch_files(facts: Facts) -> Files:
    """An sbatch script: the failure's directives and variables, and one launcher."""
    numbers = dict(facts.numbers)
    if relation := re.search(r"ntasks\s*!=\s*nodes\s*\*\s*ntasks-per-node", facts.remarks):
        numbers |= {"nodes": 2, "tasks_per_node": 4, "ntasks": 4 if relation else 8}
    written = "\n".join(line for line in facts.lines if line.startswith("#SBATCH"))
    endpoint = facts.words.get("rdzv_endpoint")
    numbers.setdefault("nodes", numbers.get("nnodes", 2 if endpoint else 1))
    directives = [
        f"#SBATCH --{directive}={numbers[name]}"
        for name, directive in DIRECTIVES.items()
        if name in numbers and f"--{directive}" not in written
    ]
    if "processes" in numbers or "world" in numbers:
        directives.append(f"#SBATCH --gres=gpu:{facts.get('world')}")
    body = [
        re.sub(r"\s+(?:repeated|fixed)$", "", line)
        for line in facts.lines
        if not line.startswith("#SBATCH")
    ]
    processes = (
        numbers.get("processes") or '"$GPUS_PER_NODE"' if body else numbers.get("processes", 1)
    )
    rendezvous = (
        f' --rdzv-backend c10d --rdzv-endpoint "{_with_port(endpoint)}"' if endpoint else ""
    )
    port = numbers.get("port")
    rendezvous += f" --master-port {port}" if port else ""
    for name, option in (("MASTER_ADDR", "--master-addr"), ("MASTER_PORT", "--master-port")):
        rendezvous += f' {option} "${name}"' if any(name in line for line in body) else ""
    nodes = numbers.get("nnodes", numbers["nodes"])
    launch = f"srun torchrun --nnodes {nodes} --nproc-per-node {processes}{rendezvous} train.py"
    if "srun python" in facts.remarks:
        launch = "srun python train.py"
    body += [f"echo ${name}" for name in re.findall(r"\b(SLURM_\w+) used", facts.remarks)]
    if early := re.search(r"(\$SLURM_\w+) in double quotes", facts.remarks):
        launch = f'srun bash -c "RANK={early[1]} python train.py"'
    header = ["#!/bin/bash", *(written.split("\n") if written else []), *directives]
    return {"job.sbatch": "\n".join([*header, *body, launch, ""])}


def _with_port(endpoint: str) -> str:
    return endpoint if re.search(r":\d+$", endpoint) else f"{endpoint}:29500"

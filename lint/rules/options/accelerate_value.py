"""A key or a value that accelerate's configuration may not have.

Why:
`accelerate launch` refuses keys that it does not know and words of no precision or kind of distribution.
Words for the truth values, policies and devices of FSDP and DeepSpeed stop the program when it starts.

Bad:
--- accelerate.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_WRAP
  fsdp_sharding_strategy: FULL_SHARD
mixed_precision: bf16
num_machines: 1
num_processes: 8
--- launch.sh
accelerate launch --config_file accelerate.yaml train.py --per_device_train_batch_size 4

Good:
--- accelerate.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: FULL_SHARD
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.accelerate import is_config
from ....backends.huggingface.option_rows import CONFIG_FILE, KIND, option
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting, text_of
from ...certainty import ITSELF
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related

CODE = "PAR477"
TITLE = "what accelerate's configuration may not say"
SEVERITY = "error"
STOPS = ITSELF
SOURCE = (
    "accelerate 1.15: commands/config/config_args.py, process_config and from_yaml_file; "
    "utils/launch.py:251-290; utils/dataclasses.py, __post_init__ of both plugins"
)
SINCE = "2026-12"
FILE = "launch.sh"

#: Of 1.15, and what earlier releases had.
KEYS = frozenset(
    (
        "compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "num_processes",
        "machine_rank", "num_machines", "gpu_ids", "main_process_ip", "main_process_port", "rdzv_backend",
        "same_network", "main_training_function", "enable_cpu_affinity", "fp8_config", "deepspeed_config",
        "fsdp_config", "parallelism_config", "megatron_lm_config", "mpirun_config", "downcast_bf16",
        "tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo", "command_file", "commands", "tpu_vm",
        "tpu_env", "dynamo_config", "fp16", "dynamo_backend", "ipex_config", "use_mps_device",
        "deepspeed_hostfile", "tp_config",
    )
)  # fmt: skip
_DEVICES = ("none", "cpu", "nvme")
#: Key -> its words, which other cases of letters may spell where they are lower here.
WORDS = {
    "mixed_precision": ("no", "fp8", "fp16", "bf16"),
    KIND: (
        "NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "DEEPSPEED",
        "FSDP", "XLA", "MEGATRON_LM", "MULTI_XPU", "MULTI_HPU", "MULTI_NEURON", "TPU", "TP",
    ),
    "deepspeed_config.offload_optimizer_device": _DEVICES,
    "deepspeed_config.offload_param_device": _DEVICES,
    "fsdp_config.fsdp_auto_wrap_policy": ("transformer_based_wrap", "size_based_wrap", "no_wrap"),
    "fsdp_config.fsdp_backward_prefetch": ("backward_pre", "backward_post", "no_prefetch", "1", "2"),
    "fsdp_config.fsdp_state_dict_type": (
        "full_state_dict", "local_state_dict", "sharded_state_dict", "1", "2", "3",
    ),
    "fsdp_config.fsdp_sharding_strategy": (
        "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2",
        "1", "2", "3", "4", "5",
    ),
}  # fmt: skip
_TRUTH = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
_SWITCHES = (
    "fsdp_offload_params", "fsdp_cpu_ram_efficient_loading", "fsdp_activation_checkpointing",
    "fsdp_use_orig_params", "fsdp_sync_module_states", "fsdp_forward_prefetch",
)  # fmt: skip
#: What FSDP 2 does not read.
_FIRST_ALONE = ("fsdp_use_orig_params", "fsdp_sync_module_states", "fsdp_forward_prefetch",
                "fsdp_sharding_strategy", "fsdp_backward_prefetch")  # fmt: skip
NUMBERS = {
    **dict.fromkeys(("num_machines", "num_processes", "machine_rank", "main_process_port"), r"-?\d+"),
    "deepspeed_config.zero_stage": r"[0-3]",
    "deepspeed_config.gradient_clipping": r"auto|[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?",
    "fsdp_config.fsdp_version": r"\d+",
    "fsdp_config.fsdp_min_num_params": r"\d+",
}  # fmt: skip


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    path = _path(launch)
    if path is None or _text(launch, "compute_environment") == "AMAZON_SAGEMAKER":
        return
    kind = launch.setting("yaml", KIND)
    if kind is None:
        message = f"accelerate's configuration needs {KIND}"
        yield Complaint(message, Place(path, 1), help=f"{KIND}: MULTI_GPU")
    for setting in launch.all("yaml"):
        if setting.path == path and not _overridden(launch, setting):
            yield from _judged(launch, setting)
    yield from _unsynchronised(launch)


def _path(launch: LaunchedJob) -> str | None:
    """The file of accelerate's configuration; one without its kind is told by the option that names it."""
    kind = launch.setting("yaml", KIND)
    if kind is not None:
        return kind.path if kind.path.endswith((".yaml", ".yml")) else None
    named = text_of(launch.setting("launcher", "--config-file"))
    counts = launch.setting("yaml", "num_processes")
    if named is None or counts is None or launch.setting("yaml", CONFIG_FILE) is not None:
        return None
    return (
        counts.path
        if is_config(f"{KIND}: NO\n" + launch.config.texts.get(counts.path, ""))
        else None
    )


def _overridden(launch: LaunchedJob, setting: Setting) -> bool:
    return launch.setting("launcher", option(setting.name)) is not None


def _text(launch: LaunchedJob, name: str) -> str | None:
    return text_of(launch.setting("yaml", name))


def _judged(launch: LaunchedJob, setting: Setting) -> Iterator[Complaint]:
    key = setting.name.partition(".")[0].partition("[")[0]
    if key not in KEYS:
        message = f"accelerate's configuration has no key {key}"
        yield Complaint(message, setting, help=did_you_mean(key, KEYS))
        return
    text = text_of(setting)
    switch = setting.name.rpartition(".")[2] in _SWITCHES
    if (
        text is None
        or (text.lower() in ("null", "~", "") and not switch)
        or re.search(r"[<>${}]", text)
    ):
        return
    if not _is_read(launch, key, setting.name.rpartition(".")[2]):
        return
    if said := _wrong(setting.name, text):
        yield Complaint(f"{setting.name} {text}: {said}", setting)


def _is_read(launch: LaunchedJob, block: str, key: str) -> bool:
    """Whether the kind of distribution reads a block's key."""
    kind = _text(launch, KIND)
    if block == "deepspeed_config":
        return kind == "DEEPSPEED"
    if block == "fsdp_config":
        second = _text(launch, "fsdp_config.fsdp_version") == "2"
        return kind == "FSDP" and not (second and key in _FIRST_ALONE)
    return True


def _wrong(name: str, text: str) -> str:
    words, number = WORDS.get(name, ()), NUMBERS.get(name)
    as_written = text if name == KIND else text.lower()
    # YAML reads NO and no as false, which is spelt no here.
    if (
        words
        and as_written not in words
        and not (text.lower() == "false" and words[0].lower() == "no")
    ):
        return f"expected one of {', '.join(words[:16])}"
    if name.rpartition(".")[2] in _SWITCHES and text.lower() not in _TRUTH:
        return "expected true or false"
    if number is not None and not re.fullmatch(number, text.replace("_", ""), re.IGNORECASE):
        return "expected 0 to 3" if name.endswith("zero_stage") else "expected a number"
    return ""


def _unsynchronised(launch: LaunchedJob) -> Iterator[Complaint]:
    loading = launch.setting("yaml", "fsdp_config.fsdp_cpu_ram_efficient_loading")
    synchronised = launch.setting("yaml", "fsdp_config.fsdp_sync_module_states")
    if _text(launch, KIND) != "FSDP" or loading is None or synchronised is None:
        return
    given = (launch.setting("launcher", option(each.name)) for each in (loading, synchronised))
    if any(given):
        return
    if (text_of(loading) or "").lower() == "true" and (
        text_of(synchronised) or ""
    ).lower() == "false":
        message = "fsdp_cpu_ram_efficient_loading needs fsdp_sync_module_states: true"
        yield Complaint(message, synchronised, (Related("loaded on rank 0 alone", loading),))

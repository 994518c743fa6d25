"""Launch scripts, options and logs of Megatron-LM and its forks -> facts in the compiler's words."""

import re

from ...dated import Dated, installed
from ...environment import RECORDER
from ...reader import ConfigFile, Reader
from . import yaml_config
from .answers import ANSWERS, fork
from .described import train
from .expressed import REFINES, says
from .jobs import job
from .kept import kept, layout_at
from .log import read_log
from .model import model
from .target_block import layout, options

#: What the emitted scripts set.
VARIABLES = frozenset(
    {
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "NCCL_GRAPH_REGISTER",
        "NCCL_NVLS_ENABLE",
        "NVTE_BWD_LAYERNORM_SM_MARGIN",
        "NVTE_FWD_LAYERNORM_SM_MARGIN",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
        "TORCH_NCCL_AVOID_RECORD_STREAMS",
        "TORCH_NCCL_HIGH_PRIORITY",
        *(each.name for each in RECORDER),
    }
)
#: `refused`: validate_args of arguments.py; core_v0.13.1 calls --nccl-ub --use-nccl-ub.
DATED = Dated(
    "Megatron-LM",
    "argument",
    "megatron-core",
    re.compile(rf"\bcore_[rv](\d+\.\d+(?:\.\d+)?)\b|{installed('megatron[-_]core')}"),
    oldest="0.4",
    refused={
        "--batch-size": "2.0",
        "--warmup": "2.0",
        "--model-parallel-size": "2.0",
        "--checkpoint-activations": "23.06",
        "--nccl-ub": "0.13",
    },
    forked=True,
)
#: What programs that read other files divide as Megatron-LM does.
ARITHMETIC = {
    # NeMo, FlagScale and Primus hand these keys to Megatron-core.
    "megatron": frozenset({"PAR101", "PAR102", "PAR111", "PAR115", "PAR201"}),
    # NVIDIA/NeMo@8cfedd72 nemo/collections/llm/api.py:1299, and Megatron-core beneath it and Bridge.
    "nemo": frozenset({"PAR101", "PAR102", "PAR111", "PAR115", "PAR201", "PAR203"}),
    "megatron-bridge": frozenset({"PAR101", "PAR102", "PAR111", "PAR115", "PAR201", "PAR203"}),
    # EleutherAI/gpt-neox@ea7aefd8 megatron/mpu/initialize.py, and mpu.divide of the heads.
    "gpt-neox": frozenset({"PAR101", "PAR111"}),
    # volcengine/verl@b178a3cd verl/utils/config.py:86; verl/workers/actor/megatron_actor.py:440 splits a
    # rank's samples and hands the micro-batches to Megatron-core's schedule.
    "verl-megatron": frozenset({"PAR101", "PAR203"}),
}
READER = Reader(
    recognise=job,
    log=read_log,
    configs=(
        ConfigFile("yaml", yaml_config.alone, yaml_config.is_config),
        ConfigFile("yml", yaml_config.alone, yaml_config.is_config),
    ),
    telling="--tensor-model-parallel-size|--(?:tensor-)?model-parallel-size",
    model=model,
    train=train,
    answers=ANSWERS,
    options=options,
    fork=fork,
    arithmetic=ARITHMETIC,
    dated=DATED,
    kept=kept,
    layout_at=layout_at,
    layout=layout,
    says=says,
    refines=REFINES,
    variables=VARIABLES,
)

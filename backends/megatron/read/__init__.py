"""Launch scripts, options and logs of Megatron-LM and its forks -> facts in the compiler's words."""

from ...reader import ConfigFile, Reader
from . import yaml_config
from .answers import ANSWERS, fork
from .described import train
from .expressed import unexpressed
from .jobs import job
from .log import read_log
from .model import model
from .target_block import options

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
    }
)
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
    unexpressed=unexpressed,
    variables=VARIABLES,
)

"""`Plan` -> the variables that `pretrain.sh` sets for PyTorch, NCCL and Transformer Engine."""

from collections.abc import Iterator

from ....compiler.plan import Plan
from ...capability import BLACKWELL, HOPPER, capability
from ...environment import RECORDER, SKIPS_CLEANUP, Variable
from ...fabric import fabric
from ..exchange_overlap import overlaps
from ..options import asked
from ..releases import has

#: megatron/core/transformer/moe/README.md recommends it; Megatron-LM reads it under this name alone
#: (distributed_data_parallel_config.py), which PyTorch's c10/core/AllocatorConfig.h keeps reading.
SEGMENTS = Variable(
    "PYTORCH_CUDA_ALLOC_CONF",
    "expandable_segments:True",
    "Memory that PyTorch freed grows in place instead of falling into pieces that fit nothing.",
    synonyms=("PYTORCH_ALLOC_CONF",),
)
#: Option of `extra` whose buffers PyTorch before 2.11 cannot keep in segments that grow. Megatron-LM refuses
#: both together, before 0.18 with any PyTorch (core/distributed/distributed_data_parallel_config.py:256).
USER_BUFFERS = "--use-nccl-ub"
#: megatron/core/transformer/moe/README.md
NO_NVLS = Variable(
    "NCCL_NVLS_ENABLE",
    "0",
    "NCCL keeps no buffers for sums in the switch: with experts, memory is worth more.",
)
#: arguments.py:1880 of 0.19.2 demands it for graphs of layers with expandable segments.
NO_GRAPH_BUFFERS = Variable(
    "NCCL_GRAPH_REGISTER",
    "0",
    "NCCL registers no buffers of a CUDA graph: segments that grow move beneath them.",
)
#: Options of `extra` that make them.
LAYER_GRAPHS = {"--cuda-graph-impl", "--external-cuda-graph"}
#: Every recipe of Megatron-Bridge sets it (067f987, src/megatron/bridge/perf_recipes/environment.py:25).
PRIORITY = Variable(
    "TORCH_NCCL_HIGH_PRIORITY",
    "1",
    "Kernels of NCCL go before those of the computation that they overlap with.",
)
#: examples/megatron_fsdp/sbatch_mfsdp_deepseek_v3.sh. The first is PyTorch's own way from 2.8 on
#: (pytorch/pytorch#150352), and made interleaved pipelines compute wrong losses before (Megatron-LM#1586).
SHARDED = (
    Variable(
        "TORCH_NCCL_AVOID_RECORD_STREAMS",
        "1",
        "What collectives have sent is freed at once, as in PyTorch 2.8 and later.",
    ),
    Variable(
        "NVTE_FWD_LAYERNORM_SM_MARGIN",
        "16",
        "Norms of the forward pass leave multiprocessors to the transfers beside them.",
    ),
    Variable(
        "NVTE_BWD_LAYERNORM_SM_MARGIN",
        "16",
        "So do those of the backward pass.",
    ),
)
#: Where the flight recorder of PyTorch writes.
TRACES = "--flight-recorder-dump-path"
#: arguments.py:1477 demands one connection with tp or cp before Blackwell; FSDP forbids it.
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
SEVERAL = Variable(
    CONNECTIONS,
    None,
    "Megatron-FSDP overlaps its transfers only with several connections, and refuses one.",
    fixed=True,
)
#: core/transformer/moe/README.md: above 1; arguments.py:1435 names 32, and only warns with tp or cp then.
MANY = Variable(
    CONNECTIONS,
    "32",
    "Tokens travel to experts beside another micro-batch's work: that takes several connections.",
    fixed=True,
)
ONE = Variable(
    CONNECTIONS,
    "1",
    "Transfers start in the order in which they overlap: Megatron-LM demands this with tp or cp.",
    fixed=True,
)


def variables(plan: Plan) -> list[Variable]:
    return [*_connections(plan), *_nvidia(plan), *_recorder(plan), *fabric(plan)]


def _recorder(plan: Plan) -> tuple[Variable, ...]:
    """Megatron-LM sets the rest by an option from 0.17 on (initialize.py:300 of 0.19.2)."""
    return (SKIPS_CLEANUP,) if has(plan.job, TRACES) else RECORDER


def _connections(plan: Plan) -> Iterator[Variable]:
    layout = plan.layout
    if layout.zero >= 2:
        yield SEVERAL
    elif overlaps(plan.job, layout.ep):
        yield MANY
    elif (layout.tp > 1 or layout.cp > 1) and capability(plan.job) < BLACKWELL:
        yield ONE


def _nvidia(plan: Plan) -> Iterator[Variable]:
    if plan.job.cluster.gpu.vendor != "nvidia":
        return
    if USER_BUFFERS not in asked(plan.options):
        yield SEGMENTS
    if plan.options.cuda_graph or asked(plan.options).keys() & LAYER_GRAPHS:
        yield NO_GRAPH_BUFFERS
    if plan.job.model.moe and capability(plan.job) >= HOPPER:
        yield NO_NVLS
    if plan.layout.gpus > 1:
        yield PRIORITY
    if plan.layout.zero >= 2:
        yield from SHARDED

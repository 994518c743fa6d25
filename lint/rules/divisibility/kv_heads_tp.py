"""Key and value heads are divided over the tensor-parallel ranks, or, in Megatron-LM, copied when there are
more ranks than heads. tp must divide them, or be a multiple of them.

Why:
Megatron-LM before 0.16 and torchtitan want kv_heads to be a multiple of tp; others accept copies, which
cost memory, where tp divides the width of queries, keys and values together.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 3072 \\
    --num-attention-heads 24 --group-query-attention --num-query-groups 6

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 32 \\
    --hidden-size 3072 \\
    --num-attention-heads 24 --group-query-attention --num-query-groups 6
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...facts.versions import older
from ...finding import Complaint, Skipped

CODE = "PAR112"
TITLE = "kv_heads do not divide evenly over tp"
SEVERITY = "error"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/transformer_config.py:1462; "
    "pytorch/torchtitan#2577"
)


# A module, and no row: models without grouped queries are PAR111, and releases are those that the user names.
def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.value("kv_heads") != launch.value("heads"):
        yield from enforced(CODE, launch, vary="tp")
    yield from _copies(launch)


def _copies(launch: LaunchedJob) -> Iterator[Complaint]:
    """Before 0.16 Megatron-LM had no copies of key and value heads."""
    version = launch.versions.get("megatron")
    tp, groups = launch.number("tp"), launch.number("kv_heads")
    if not launch.megatron or version is None or tp is None or groups is None:
        return
    if older(version, "0.16") and tp > groups > 0 and tp % groups == 0:
        message = (
            f"kv_heads {groups} is less than tp {tp}, and Megatron-LM {version} does not copy heads"
        )
        yield Complaint(message, launch.facts["tp"], help=f"tp <= {groups}, or Megatron-LM 0.16")

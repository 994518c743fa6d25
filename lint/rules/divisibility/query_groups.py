"""--num-query-groups counts only together with --group-query-attention. Query groups must divide the heads.

Why:
Without the switch Megatron-LM builds full multi-head attention and says nothing: Llama 3 8B grows from 8.0
to 8.8 billion parameters, and no checkpoint of the intended model loads.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --num-query-groups 8

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --group-query-attention --num-query-groups 8
"""

from collections.abc import Iterator

from ....reading.facts import number_of
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR136"
TITLE = "query groups are ignored or do not divide the heads"
SEVERITY = "error"
STOPS = "own"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py (num_query_groups is read "
    "only with group_query_attention)"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, heads = launch.option("--num-query-groups"), launch.option("--num-attention-heads")
    groups, count = number_of(at), number_of(heads)
    if not launch.megatron or at is None or groups is None:
        return
    if not launch.given("--group-query-attention"):
        if groups not in (1, count):
            message = f"{at.name} {groups} is ignored without --group-query-attention"
            yield Complaint(message, at, help="add --group-query-attention", severity="warning")
        return
    if heads and count and groups and count % groups:
        related = (Related(f"heads {count}", heads),)
        legal = legal_values("groups", (k for k in range(1, count + 1) if count % k == 0))
        message = f"heads {count} is not a multiple of query groups {groups}"
        yield Complaint(message, at, related, legal)

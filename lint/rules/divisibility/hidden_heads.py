"""Without --kv-channels a head is hidden / heads wide, so the heads must divide the hidden size.

Why:
Megatron-LM stops with a bare assertion that names neither number.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 30

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import LATENT
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR135"
TITLE = "the heads do not divide the hidden size"
SEVERITY = "error"
STOPS = "own"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1332; mosaicml/llm-foundry@0.22 "
    "llmfoundry/models/mpt/configuration_mpt.py"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    hidden, heads = launch.number("hidden"), launch.number("heads")
    whole = launch.program is not None and launch.program.whole_heads
    if not (whole or launch.framework == "megatron") or not hidden or not heads:
        return
    if hidden % heads == 0:
        return
    if launch.given("--kv-channels", LATENT):
        return
    related = (Related(f"heads {heads}", launch.facts["heads"]),)
    message = f"hidden {hidden} is not a multiple of heads {heads}"
    legal = legal_values("heads", (k for k in range(1, heads * 2) if hidden % k == 0))
    cure = legal if whole else f"{legal}, or --kv-channels"
    yield Complaint(message, launch.facts["hidden"], related, cure)

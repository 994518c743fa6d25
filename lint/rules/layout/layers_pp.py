"""Every pipeline stage gets the same number of layers, so pp must divide them. Embedding and loss may be
counted as layers, the first and last stage given their own numbers, or the whole split written as a layout
string.

Why:
Megatron-LM stops at start; old versions dropped the layers that were left over without a word.

Bad:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_bert.py --pipeline-model-parallel-size 16 --num-layers 24

Good:
torchrun --nnodes 2 --nproc-per-node 8 pretrain_bert.py --pipeline-model-parallel-size 8 --num-layers 24
"""

from collections.abc import Iterator

from ....backends.megatron.option_groups import COUNTED, ENDS, LAYOUT, NO_PIPELINE, SPLIT_OTHERWISE
from ....reading.facts import number_of
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR121"
TITLE = "pp does not divide the layers"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:997; NVIDIA/Megatron-LM#823"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    layers, pp = launch.number("layers"), launch.number("pp")
    if launch.framework != "megatron" or not layers or not pp:
        return
    if launch.given(*ENDS):
        yield from _middle(launch, layers, pp)
    if launch.given(*SPLIT_OTHERWISE):
        return
    # DeepSpeed's PipelineModule splits by weight, and counts embeddings among the layers.
    if launch.kind.involves("deepspeed") and not launch.given(NO_PIPELINE):
        return
    counted = [name for flag, name in COUNTED.items() if launch.given(flag)]
    units = layers + len(counted)
    if units % pp == 0:
        return
    what = " + ".join([f"layers {layers}", *counted])
    message = f"{what}{f' = {units}' if counted else ''} is not a multiple of pp {pp}"
    related = (Related(f"pp {pp}", launch.facts["pp"]),)
    legal = legal_values("pp", (k for k in range(1, max(pp, 8) + 1) if units % k == 0))
    flags = "or count embedding and loss as layers, or --pipeline-model-parallel-layout"
    yield Complaint(message, launch.facts["layers"], related, f"{legal}, {flags}")


def _middle(launch: LaunchedJob, layers: int, pp: int) -> Iterator[Complaint]:
    """Layers beside those of the first and last stage are split evenly (transformer_config.py:2351)."""
    given = [setting for name in ENDS if (setting := launch.option(name)) is not None]
    taken = [number_of(setting) for setting in given]
    if launch.given(LAYOUT, *COUNTED) or None in taken or "layers" not in launch.facts:
        return
    stages, left = pp - len(given), layers - sum(count or 0 for count in taken)
    uneven = left != 0 if stages <= 0 else left <= 0 or left % stages != 0
    if uneven:
        ends = " - ".join(str(count) for count in taken)
        message = (
            f"layers {layers} - {ends} = {left} do not divide over {stages} stages between the ends"
        )
        related = tuple(Related(setting.name, setting) for setting in given)
        yield Complaint(message, launch.facts["layers"], related)

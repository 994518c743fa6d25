"""A list given to --moe-layer-freq says for each layer whether it has experts, so it has as many entries as
layers.

Why:
Megatron-LM finds out when it builds the model, after all processes have started.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 28 --num-experts 64 \\
    --moe-layer-freq "([0]*1+[1]*26)"

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --hidden-size 4096 --num-layers 28 --num-experts 64 \\
    --moe-layer-freq "([0]*1+[1]*27)"
"""

from collections.abc import Iterator

from ....backends.megatron.read.expert_layers import length_of
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR314"
TITLE = "a list of expert layers of the wrong length"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = "NVIDIA/Megatron-LM@d98e8a64 megatron/core/models/gpt/gpt_layer_specs.py:653"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at, layers = launch.option("--moe-layer-freq"), launch.number("layers")
    text = (text_of(at) or "").replace(" ", "").strip("()")
    length = length_of(text)
    if launch.framework == "megatron" and at and layers and length is not None and length != layers:
        related = (Related(f"layers {layers}", launch.facts["layers"]),)
        yield Complaint(f"--moe-layer-freq lists {length} layers, not {layers}", at, related)

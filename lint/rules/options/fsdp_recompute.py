"""FSDP, and a way to recompute activations that costs more than it saves.

Why:
`gradient_checkpointing` recomputes a layer inside of its FSDP unit: with full_shard the backward pass gathers
the layer's parameters twice. `activation_checkpointing` of the FSDP config wraps the units themselves. Under
FSDP2 accelerate's `fsdp_activation_checkpointing` wraps the modules below them, and keeps far more than
`gradient_checkpointing` does. Transformers refuses both at once (PAR475).

Bad:
--- train.sh
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 2 --learning_rate 1e-5 \\
    --gradient_checkpointing True --fsdp "full_shard auto_wrap" --fsdp_config fsdp.json
--- fsdp.json
{"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}

Good:
--- train.sh
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 2 --learning_rate 1e-5 \\
    --fsdp "full_shard auto_wrap" --fsdp_config fsdp.json
--- fsdp.json
{"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "activation_checkpointing": true}
"""

from collections.abc import Iterator

from ....backends.huggingface.option_rows import RECOMPUTES
from ....reading.facts import text_of
from ...facts.fsdp import fsdp_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import is_on, trainer_argument
from ...finding import Complaint, Related

CODE = "PAR483"
TITLE = "FSDP with the costly way to recompute activations"
SEVERITY = "warning"
SOURCE = "huggingface/transformers#30404, huggingface/peft#2111; huggingface/accelerate#3897"
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    fsdp, own = fsdp_of(launch), trainer_argument(launch, RECOMPUTES)
    if fsdp is None:
        return
    related = (Related("FSDP is asked for here", fsdp.asked),)
    if fsdp.second and fsdp.recomputes is not None and not is_on(own):
        message = "fsdp_activation_checkpointing of FSDP2 wraps modules inside of the layers"
        yield Complaint(message, fsdp.recomputes, related, "--gradient_checkpointing instead")
        return
    full = "full_shard" in (text_of(fsdp.asked) or "") and fsdp.known
    if full and fsdp.recomputes is None and own is not None and is_on(own):
        message = "gradient_checkpointing under full_shard gathers each layer's parameters twice"
        help_text = '"activation_checkpointing": true in --fsdp_config instead'
        yield Complaint(message, own, related, help_text)

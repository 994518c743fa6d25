"""FSDP is to flatten weights of 8 bits.

Why:
FSDP puts the weights of a layer into one flat tensor, which cannot hold the integers of LLM.int8: every rank
stops with "Cannot flatten integer dtype tensors". Weights of 4 bits are kept in a type of floating point
(bnb_4bit_quant_storage), which can.

Bad:
--- train.yaml
base_model: meta-llama/Llama-3.1-8B
load_in_8bit: true
adapter: lora
micro_batch_size: 1
output_dir: out
fsdp: [full_shard, auto_wrap]
fsdp_config:
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer

Good:
--- train.yaml
base_model: meta-llama/Llama-3.1-8B
load_in_4bit: true
adapter: qlora
micro_batch_size: 1
output_dir: out
fsdp: [full_shard, auto_wrap]
fsdp_config:
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
"""

from collections.abc import Iterator

from ....backends.huggingface.option_rows import KIND, VERSIONS
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import is_on, trainer_argument
from ...finding import Complaint, Related

CODE = "PAR504"
TITLE = "8-bit weights under FSDP"
SEVERITY = "error"
SOURCE = "torch 2.13.0 torch/distributed/fsdp/_flat_param.py, _validate_tensors_to_flatten"
SINCE = "2026-12"
TRAINING = True

#: Keys that say which FSDP it is; the second one has no flat tensors.
_VERSIONS = VERSIONS
_OFF = ("", "null", "none", "false", "[]")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    eight, sharded = trainer_argument(launch, "load_in_8bit"), _sharded(launch)
    if eight is None or not is_on(eight) or sharded is None or _second(launch):
        return
    message = "FSDP cannot flatten weights of 8 bits"
    related = (Related("FSDP", sharded),)
    yield Complaint(message, eight, related, "4 bits (QLoRA), DeepSpeed, or no sharding")


def _sharded(launch: LaunchedJob) -> Setting | None:
    """The setting that asks for FSDP: `fsdp` of a trainer, or accelerate's distributed_type."""
    kind = launch.setting("yaml", KIND)
    if kind is not None and text_of(kind) == "FSDP":
        return kind
    one, first = trainer_argument(launch, "fsdp"), launch.setting("yaml", "fsdp.0")
    asked = one is not None and (text_of(one) or "").lower() not in _OFF
    return one if asked else first


def _second(launch: LaunchedJob) -> bool:
    """Whether a version is written that is not the first one."""
    given = [launch.setting("yaml", name) for name in _VERSIONS]
    return any(each is not None and text_of(each) != "1" for each in given)

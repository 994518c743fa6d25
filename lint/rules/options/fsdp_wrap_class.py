"""FSDP wraps the layers of a class that the model does not have.

Why:
accelerate and the Trainer look the class up in the model, and stop: "Could not find the transformer layer
class to wrap in the model". Judged are models whose name says their family.

Bad:
--- fsdp.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
num_machines: 1
num_processes: 8
--- launch.sh
accelerate launch --config_file fsdp.yaml train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir out \\
    --per_device_train_batch_size 1 --learning_rate 1e-5

Good:
--- fsdp.yaml
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: Qwen2DecoderLayer
num_machines: 1
num_processes: 8
--- launch.sh
accelerate launch --config_file fsdp.yaml train.py --model_name_or_path Qwen/Qwen2.5-7B --output_dir out \\
    --per_device_train_batch_size 1 --learning_rate 1e-5
"""

import re
from collections.abc import Iterator, Mapping

from ....backends.huggingface.option_rows import BASE
from ....reading.facts import Setting, text_of
from ...facts.fsdp import fsdp_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import trainer_argument
from ...finding import Complaint, Related

CODE = "PAR463"
TITLE = "FSDP wraps a class that the model does not have"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "accelerate 1.15 utils/dataclasses.py, set_auto_wrap_policy; huggingface/accelerate#1943, "
    "netease-youdao/BCEmbedding#66, tatsu-lab/stanford_alpaca#58"
)
SINCE = "2026-12"
TRAINING = True
FILE = "launch.sh"

#: Class of Transformers for a layer -> the models that have it, by the last part of their name.
LAYERS: Mapping[str, str] = {
    "LlamaDecoderLayer": r"(meta-)?llama-?((2|3(\.[123])?)-)?\d+b(?!.*vision)|vicuna-|tinyllama|smollm2?-",
    "MistralDecoderLayer": r"mistral-7b|zephyr-7b",
    "MixtralDecoderLayer": r"mixtral-8x",
    "Qwen2DecoderLayer": r"qwen(2|2\.5)-(math-|coder-)?[\d.]+b(?!.*(moe|a14b))",
    "Qwen3DecoderLayer": r"qwen3-[\d.]+b(?!-a\d)",
    "Qwen3MoeDecoderLayer": r"qwen3-\d+b-a\d+b",
    "GemmaDecoderLayer": r"gemma-[27]b",
    "Gemma2DecoderLayer": r"gemma-2-",
    "Phi3DecoderLayer": r"phi-3-(mini|medium)",
    "OlmoDecoderLayer": r"olmo-[17]b.*-hf",
    "Olmo2DecoderLayer": r"olmo-2-",
    "FalconDecoderLayer": r"falcon-(7|40|180)b",
    "OPTDecoderLayer": r"opt-[\d.]+[mb]",
    "BloomBlock": r"bloomz?-",
    "GPTNeoXLayer": r"pythia-|gpt-neox-",
    "GPT2Block": r"gpt2",
    "BertLayer": r"bert-",
    "RobertaLayer": r"roberta-",
    "XLMRobertaLayer": r"xlm-roberta-",
    "T5Block": r"(flan-)?t5-",
}
#: Names that Transformers has no more.
_FORMER = {"LLaMADecoderLayer": "LlamaDecoderLayer"}
_KEY = re.compile(r"(?:^|\.)(?:fsdp_)?transformer_layer_cls_to_wrap(?:\.\d+)?$")
_OPTION = "fsdp_transformer_layer_cls_to_wrap"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    model = trainer_argument(launch, "model_name_or_path") or launch.setting("yaml", BASE)
    own = _layer(text_of(model) or "")
    if model is None or own is None or (fsdp_of(launch) is None and not _of_axolotl(launch)):
        return
    for given in _given(launch):
        named = [each.strip() for each in (text_of(given) or "").split(",")]
        if own not in named and all(each in LAYERS or each in _FORMER for each in named):
            message = f"{text_of(model)} has no {' or '.join(named)}"
            yield Complaint(message, given, (Related("the model", model),), own)


def _layer(model: str) -> str | None:
    """The class of the model's layers, where its name tells; a distilled model has the name of two."""
    name = model.rstrip("/").rpartition("/")[2].lower()
    found = [layer for layer, names in LAYERS.items() if re.match(rf"(?:{names})", name)]
    return found[0] if len(found) == 1 else None


def _given(launch: LaunchedJob) -> list[Setting]:
    """The keys and options that name the class; several of a list are no word to compare."""
    keys = [each for each in launch.all("yaml") if _KEY.search(each.name)]
    options = [launch.option(f"--{_OPTION}"), launch.setting("launcher", f"--{_OPTION}")]
    found = [*keys, *filter(None, options)]
    return found if len(found) == 1 else []


def _of_axolotl(launch: LaunchedJob) -> bool:
    """axolotl's block of keys is switch enough."""
    return launch.setting("yaml", BASE) is not None

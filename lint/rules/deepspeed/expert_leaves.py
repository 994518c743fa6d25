"""ZeRO 3 and a model with experts, whose block is no leaf.

Why:
Under ZeRO 3 a module gathers its parameters when it runs, and all ranks must gather the same ones. Ranks send
their tokens to different experts, so they wait for each other for ever. A leaf is gathered as a whole. From
0.18 on DeepSpeed makes leaves of the blocks of Mixtral, Qwen2-MoE and Qwen3-MoE by itself. It is a hint of a
program of one's own that is not at hand: it may make them, or train adapters.

Bad:
--- ds_config.json
{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}
--- launch.sh
deepspeed --num_gpus 8 src/train.py --output_dir out --per_device_train_batch_size 1 --learning_rate 1e-5 \\
    --model_name_or_path mistralai/Mixtral-8x7B-v0.1 --deepspeed ds_config.json --finetuning_type full

Good:
--- ds_config.json
{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3, "leaf_module":
 {"classes": ["transformers.models.mixtral.modeling_mixtral.MixtralSparseMoeBlock"]}}}
"""

import re
from collections.abc import Iterator

from ....backends.deepspeed.option_rows import LEAVES, ROWS
from ....backends.huggingface.option_rows import BASE
from ....dsl.diagnostics import Severity
from ....reading.facts import number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import is_on, read_by_trainer, trainer_argument
from ...finding import Complaint, Related

CODE = "PAR486"
TITLE = "experts under ZeRO 3 that are no leaves"
SEVERITY = "warning"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/zero/leaf_module_config.py; deepspeedai/DeepSpeed#7461, "
    "modelscope/ms-swift#5400, hiyouga/LlamaFactory#9222"
)
SINCE = "2026-12"
TRAINING = True
FILE = "launch.sh"

#: Names of published models with experts, for those whose shape is not at hand, and of those whose block
#: DeepSpeed knows.
_EXPERTS = re.compile(
    r"-A\d{1,3}(?:\.\d)?B\b|Mixtral|OLMoE|gpt-oss|DeepSeek-(?:V[23]|R1(?!-Distill)|MoE)|-MoE\b",
    re.IGNORECASE,
)
_KNOWN = re.compile(r"Mixtral|Qwen(?:2|3|1\.5)-", re.IGNORECASE)
_FIRST_KNOWN = "0.18"
_SETS = "set_z3_leaf_modules"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    stage = launch.key(ROWS.fact("zero").name)
    name = trainer_argument(launch, "model_name_or_path") or launch.setting("yaml", BASE)
    model = (text_of(name) or "").rstrip("/").rpartition("/")[2]
    if number_of(stage) != 3 or stage is None or name is None or not read_by_trainer(launch):
        return
    if _adapters(launch) or _leaves(launch, model) or not _has_experts(launch, model):
        return
    related = (Related("stage 3", stage),)
    message = f"{model} has experts, and under ZeRO 3 no block of them is a leaf"
    since = f" (from DeepSpeed {_FIRST_KNOWN} on it is one by itself)"
    cure = f"{LEAVES}.classes names the class of the block"
    help_text = cure + (since if _KNOWN.search(model) else "")
    severity: Severity | None = None if _is_at_hand(launch) else "info"
    yield Complaint(message, name, related, help_text, severity)


def _is_at_hand(launch: LaunchedJob) -> bool:
    """Whether it is known what the program does: it is read, or a published one that says what it trains."""
    published = launch.kind.launcher in ("llamafactory", "axolotl", "trl", "swift")
    stated = trainer_argument(launch, "finetuning_type") or trainer_argument(launch, "train_type")
    return published or stated is not None or launch.program_text is not None


def _has_experts(launch: LaunchedJob, model: str) -> bool:
    """By its config.json or the standard library; by its name alone where neither has it."""
    from ...facts.named_model import named_model  # loads what reads a model's config.json

    known = named_model(launch)
    return bool(known.settings.get("experts")) if known else bool(_EXPERTS.search(model))


def _leaves(launch: LaunchedJob, model: str) -> bool:
    """Whether the config, the program or the release makes a leaf of the block."""
    if any(each.name.startswith(LEAVES) for each in launch.all("json")):
        return True
    release = launch.release("deepspeed")
    known = release.release is not None and not release.before(_FIRST_KNOWN)
    return _SETS in (launch.program_text or "") or (known and bool(_KNOWN.search(model)))


def _adapters(launch: LaunchedJob) -> bool:
    """Whether adapters are trained, of which nothing is known here."""
    kinds = [trainer_argument(launch, name) for name in ("finetuning_type", "train_type")]
    switches = [trainer_argument(launch, name) for name in ("use_peft", "use_lora", "lora_enable")]
    return any(text_of(kind) in ("lora", "oft", "freeze") for kind in kinds) or any(
        map(is_on, switches)
    )

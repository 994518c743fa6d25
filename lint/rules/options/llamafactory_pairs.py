"""Arguments of LLaMA-Factory that its parser refuses together, or together with ZeRO 3.

Why:
`get_train_args` stops on every rank, before the model is loaded.

Bad:
--- train.sh
FORCE_TORCHRUN=1 llamafactory-cli train lora.yaml
--- lora.yaml
model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
do_train: true
finetuning_type: full
quantization_bit: 4
output_dir: saves
per_device_train_batch_size: 1

Good:
--- train.sh
FORCE_TORCHRUN=1 llamafactory-cli train lora.yaml
--- lora.yaml
model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
do_train: true
finetuning_type: lora
quantization_bit: 4
output_dir: saves
per_device_train_batch_size: 1
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ....backends.huggingface.option_rows import BEST
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import is_on, trainer_argument
from ...finding import At, Complaint, Related

CODE = "PAR474"
TITLE = "arguments that LLaMA-Factory refuses together"
SEVERITY = "error"
SOURCE = "hiyouga/LLaMA-Factory 0.9 src/llamafactory/hparams/parser.py; hiyouga/LlamaFactory#3949"
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

_Met = tuple[str, At | None] | None
_Search = Callable[[LaunchedJob], _Met]


@dataclass(frozen=True)
class Refused:
    """`option`, given or switched on, where `where` finds what it may not meet."""

    option: str
    where: _Search


def _zero_three(launch: LaunchedJob) -> _Met:
    """DeepSpeed's, not what FSDP shards."""
    zero = launch.number("zero") if launch.framework == "deepspeed" else None
    return ("ZeRO 3", launch.facts["zero"]) if zero == 3 else None


def _deepspeed(launch: LaunchedJob) -> _Met:
    given = trainer_argument(launch, "deepspeed")
    return ("DeepSpeed", given) if given is not None and text_of(given) else None


def _with(name: str) -> _Search:
    """Another switch that is on."""

    def found(launch: LaunchedJob) -> _Met:
        given = trainer_argument(launch, name)
        return (name, given) if is_on(given) else None

    return found


def _not(name: str, *legal: str) -> _Search:
    """A choice that is none of these; unknown ones are left."""

    def found(launch: LaunchedJob) -> _Met:
        given = trainer_argument(launch, name)
        text = text_of(given)
        return (f"{name} {text}", given) if text and text not in legal else None

    return found


def _without(name: str) -> _Search:
    def found(launch: LaunchedJob) -> _Met:
        return (f"no {name}", None) if trainer_argument(launch, name) is None else None

    return found


#: In the order of the parser.
REFUSED = (
    Refused("adapter_name_or_path", _not("finetuning_type", "lora")),
    Refused("quantization_bit", _not("finetuning_type", "lora", "oft")),
    Refused("quantization_bit", _with("pissa_init")),
    Refused("quantization_bit", _with("resize_vocab")),
    Refused("quantization_bit", _with("create_new_adapter")),
    Refused("predict_with_generate", _not("stage", "sft")),
    Refused("neat_packing", _not("stage", "sft")),
    Refused(BEST, _not("stage", "sft", "pt", "dpo", "kto", "orpo")),
    Refused("streaming", _without("max_steps")),
    Refused("predict_with_generate", _zero_three),
    Refused("pissa_init", _zero_three),
    Refused("pure_bf16", _zero_three),
    Refused("use_galore", _deepspeed),
    Refused("use_apollo", _deepspeed),
    Refused("use_unsloth", _zero_three),
)
#: Options with a value, where the others are switches.
_VALUED = ("adapter_name_or_path", "quantization_bit")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Both arguments together tell LLaMA-Factory from other programs."""
    if not trainer_argument(launch, "stage") or not trainer_argument(launch, "finetuning_type"):
        return
    for row in REFUSED:
        given = trainer_argument(launch, row.option)
        met = row.where(launch) if given is not None and _asked(row.option, given) else None
        if given is not None and met is not None:
            what, place = met
            related = (Related(what, place),) if place is not None else ()
            yield Complaint(f"{row.option} with {what}: LLaMA-Factory stops", given, related)
    yield from _new_adapter(launch)


def _new_adapter(launch: LaunchedJob) -> Iterator[Complaint]:
    """In the words of releases before 0.4; the first of them go on with the old adapter, later ones stop."""
    bits, loaded = (
        trainer_argument(launch, name) for name in ("quantization_bit", "checkpoint_dir")
    )
    resumed = trainer_argument(launch, "resume_lora_training")
    if loaded is None or resumed is None or is_on(resumed):
        return
    if bits is not None and _asked("quantization_bit", bits):
        related = (Related("the adapter is not resumed", resumed), Related("an adapter", loaded))
        message = "no new adapter is trained beside one that is loaded on a quantised model"
        yield Complaint(message, bits, related, "--resume_lora_training True", "warning")


def _asked(option: str, given: Setting) -> bool:
    if option not in _VALUED:
        return is_on(given)
    return (text_of(given) or "null").lower() not in ("null", "none", "")

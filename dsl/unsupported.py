"""Features that parc does not support, by the names under which people ask for it: settings, blocks, targets
and models."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import codes


@dataclass(frozen=True)
class Unsupported:
    """`what` is named in messages, `instead` is the help.

    `settings` and `models` have phrases of names, in small letters with `-` between words: whole words,
    their beginning (`mamba*`), or all of a name (`=pattern`). `targets` are names of frameworks.
    """

    what: str
    instead: str
    settings: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    code: str = codes.UNSUPPORTED

    def message(self, name: str) -> str:
        return f"`{name}` asks for {self.what}, which parc does not have"

    def of_model(self, name: str) -> str:
        return f"`{name}` has {self.what}, which parc does not have"


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADAPTERS = Unsupported(
    "adapters in the words of another program",
    "`train { weights = ...; tune = lora; adapter_rank = 16 }` trains adapters of a checkpoint",
    _phrases("""lora qlora dora peft adapter adapters load-in-4bit load-in-8bit bnb*
        =quantization =quantization-config"""),
    code=codes.ADAPTERS,
)
STATE_SPACE = Unsupported(
    "state-space or linear-attention layers (Mamba, Nemotron-H, Qwen3-Next)",
    "parc plans models whose layers all have attention, such as `model from std.qwen3_8b {}`",
    _phrases(
        """mamba* ssm* rwkv* deltanet delta-net gated-delta* state-space linear-attention linear-conv*
        linear-key* linear-value* linear-num* =pattern =layer-pattern =layers-block-type =block-types
        hybrid-pattern hybrid-override-pattern =d-state =d-conv =d-inner =state-size =state-dim
        =conv-kernel time-step-rank"""
    ),
    _phrases(
        """mamba* falcon-mamba* nemotron-h nvidia-nemotron-nano nemotron-3 qwen3-next qwen3-5* jamba* zamba*
        falcon-h1 bamba* granitemoehybrid granite-4 rwkv* lfm2* hymba* recurrent-gemma recurrentgemma
        kimi-linear minimax-text minimax-m1 plamo2"""
    ),
)
VISION = Unsupported(
    "parts for images, video or sound",
    "leave them out: parc plans only the language model",
    _phrases("vision visual image images patch pixel pixels audio speech video multimodal"),
    _phrases(
        """vl vlm omni vision audio llava* pixtral* mllama* internvl* idefics* paligemma* whisper* siglip*
        molmo* phi4-multimodal"""
    ),
)
SECOND_MODEL = Unsupported(
    "training against another model (DPO, GRPO, PPO, rewards, distillation)",
    "parc plans pre-training and full fine-tuning: leave it out, and give `train { weights = ... }`",
    _phrases(
        """dpo grpo ppo kto orpo simpo rloo rlhf rlvr rl rollout rollouts reward rewards actor critic teacher
        ref-model reference-model preference preferences kl-beta kl-coef kl-penalty distill*
        num-generations"""
    ),
    targets=("verl", "openrlhf", "trl", "nemo_rl", "areal", "slime"),
)
TWO_STACKS = Unsupported(
    "an encoder beside a decoder (T5, Whisper)",
    "parc plans only decoders, such as `model from std.llama3_8b {}`",
    _phrases(
        """encoder-layers decoder-layers encoder-attention-heads decoder-attention-heads encoder-ffn-dim
        decoder-ffn-dim decoder-num-layers decoder-seq-length cross-attention"""
    ),
    _phrases("t5* mt5 flan-t5 ul2 bart mbart pegasus"),
)
KINDS_OF_GPUS = Unsupported(
    "GPUs of several kinds in a cluster",
    "give each kind a job of its own, and set them side by side: `parc compare one.par two.par`",
)
CONDITIONS = Unsupported(
    "values that depend on a condition",
    "name all to choose from, `{4, 8}`, or give one with `--set BLOCK.SETTING=VALUE`",
)
#: What targets refuse themselves.
ACCELERATORS = Unsupported(
    "files for accelerators without CUDA or ROCm (TPU, Trainium)",
    "plan for GPUs of NVIDIA or AMD, such as `cluster from std.dgx_h100 {}`; or without files, with "
    "`target plan {}`",
    code="PAR320",
)
SUBJECTS = (ADAPTERS, STATE_SPACE, VISION, SECOND_MODEL, TWO_STACKS)
ALL = (*SUBJECTS, KINDS_OF_GPUS, ACCELERATORS, CONDITIONS)
#: Sizes of latent attention, and the settings of adapters that parc has.
_OWN = (
    "q_lora_rank",
    "kv_lora_rank",
    "adapter_rank",
    "adapter_alpha",
    "adapter_targets",
    "adapter_dropout",
)
#: Settings whose value says what is asked for.
_METHODS = (
    "method",
    "algorithm",
    "task",
    "training_method",
    "training_type",
    "finetuning_type",
    "train_type",
)


def of_setting(name: str, value: str = "") -> Unsupported | None:
    """The unsupported feature that a setting or block asks for, by its value for such as `method = dpo`."""
    asked = value if name.lower() in _METHODS else "" if name in _OWN else name
    return next((each for each in SUBJECTS if _said(each.settings, asked)), None)


def of_target(name: str) -> Unsupported | None:
    return next((each for each in SUBJECTS if name.lower() in each.targets), None)


def of_model(name: str) -> Unsupported | None:
    """The unsupported feature that a model of this name or `model_type` has."""
    return next((each for each in SUBJECTS if _said(each.models, name)), None)


def _said(phrases: tuple[str, ...], name: str) -> bool:
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return any(_holds(f"-{words}-", phrase) for phrase in phrases)


def _holds(words: str, phrase: str) -> bool:
    if phrase[0] == "=":
        return words == f"-{phrase[1:]}-"
    return f"-{phrase[:-1]}" in words if phrase[-1] == "*" else f"-{phrase}-" in words

"""train.yaml and config.json -> settings of the `model` and `train` blocks."""

from collections.abc import Iterator
from typing import Any

from ....reading.facts import LaunchConfig, number_of, text_of, texts_of
from ....reading.huggingface.config_settings import read_model
from ...described import known, rate_of
from ...huggingface.option_rows import LR_SCHEDULE, TRAINER
from ...timeouts import FIRST_SECONDS
from ..emit.arguments import DECAYS

_KWARGS = "lr_scheduler_kwargs"
_FALLING = "warmup_stable_decay"


def model(config: LaunchConfig) -> dict[str, Any]:
    """The model of parc's own config.json; nothing of other programs."""
    if config.framework != "accelerate":
        return {}
    for path, text in config.texts.items():
        if path.endswith(".json"):
            return dict(read_model(path, text).settings)
    return {}


def train(config: LaunchConfig) -> dict[str, Any]:
    """Settings of parc's own train.yaml; nothing of other programs of the Trainer."""
    if config.framework != "accelerate":
        return {}
    found = TRAINER.values(config, "train")
    found |= {"keep_checkpoints": 0} if "keep_checkpoints" not in found else {}
    found |= known(
        weights=text_of(config.option("--model-name-or-path")),
        tracker=_tracker(config),
        collective_timeout=_timeout(config),
        attention="unfused" if _word(config, "attn_implementation") == "eager" else None,
    )
    return found | dict(_schedule(config, found)) | _adapters(config)


def _word(config: LaunchConfig, name: str) -> str | None:
    return text_of(config.setting("yaml", name))


def _timeout(config: LaunchConfig) -> float | None:
    seconds = number_of(config.setting("yaml", "ddp_timeout"))
    return None if seconds == FIRST_SECONDS else seconds


def _tracker(config: LaunchConfig) -> str | None:
    word = _word(config, "report_to")
    return None if word in (None, "none") else word


def _schedule(config: LaunchConfig, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if (word := _word(config, LR_SCHEDULE)) != _FALLING:
        if word == "constant_with_warmup":
            yield "schedule", "constant"
        return
    words = {theirs: ours for ours, theirs in DECAYS.items()}
    style = words.get(_word(config, f"{_KWARGS}.decay_type") or "linear")
    if style is None:
        return
    last = number_of(config.setting("yaml", f"{_KWARGS}.num_decay_steps"))
    rest = (found.get("steps") or 0) - (found.get("warmup") or 0)
    if last == rest and style != "sqrt":
        yield "schedule", style
    else:
        yield from {"schedule": "wsd", "decay_steps": last, "decay_style": style}.items()
    share = rate_of(config.setting("yaml", f"{_KWARGS}.min_lr_ratio"))
    if share is not None and (rate := found.get("learning_rate")):
        yield "min_learning_rate", float(f"{rate * share:.6g}")


def _adapters(config: LaunchConfig) -> dict[str, Any]:
    if _word(config, "use_peft") != "True":
        return {"tune": "full"} if config.option("--model-name-or-path") else {}
    names = texts_of(config.setting("yaml", "lora_target_modules"))
    several = [
        text_of(each) for each in config.all("yaml") if each.name.startswith("lora_target_modules")
    ]
    return {
        "tune": "qlora" if _word(config, "load_in_4bit") == "True" else "lora",
        "adapter_rank": number_of(config.setting("yaml", "lora_r")),
        "adapter_alpha": rate_of(config.setting("yaml", "lora_alpha")),
        "adapter_dropout": rate_of(config.setting("yaml", "lora_dropout")),
        "adapter_targets": "linear" if "up_proj" in {*names, *several} else "attention",
    }

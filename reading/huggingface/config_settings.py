"""The text of a config.json -> the settings of the model that it describes, and what they leave unsaid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...dsl.diagnostics import Diagnostic, JobError, Source
from ...dsl.inputs.documents import json_value
from ...dsl.inputs.files import text_of
from ...dsl.model import Model
from ...dsl.unsupported import STATE_SPACE, VISION, Unsupported, of_model, of_setting
from .codes import NO_CONFIG, NO_FAMILY
from .config import Config, Unsaid, shown
from .defaults import defaults
from .families import CLASSES, FAMILIES, WRAPPERS
from .rope import Settings
from .unneeded import NEUTRAL, UNNEEDED

CONFIG = "config.json"
#: Shares of activations that are set to zero, anywhere in the model.
_DROPOUTS = ("attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop")
#: Keys that say how long a sequence may be.
_LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx")


@dataclass(frozen=True)
class DescribedModel:
    """`settings` are those of a `model` block that differ from the language's defaults. `positions` are the
    tokens of the longest sequence, None where the file does not say; `assumed` are the keys of sizes that it
    lacks, with transformers' values. Without `language_alone` there are parts for images or sound beside it;
    `dtype` and `quantized` are of the published weights."""

    family: str
    settings: Settings
    positions: int | None
    dropout: float
    unsaid: tuple[Unsaid, ...]
    assumed: tuple[str, ...]
    language_alone: bool
    quantized: bool
    dtype: str | None

    @property
    def model(self) -> Model:
        """The model of the language. Raises pydantic's `ValidationError`, a `ValueError`."""
        return Model.model_validate(self.settings)


def read_model(path: str, text: str) -> DescribedModel:
    """The model of a config.json. Raises `JobError` for another file, a family that is not known, and values
    that no key can have."""
    source = Source(path, text)
    whole, config, family = _config(source, _object(path, text))
    found = FAMILIES[family](config)
    positions, dropout = config.whole(*_LENGTHS) or None, _dropout(config)
    config.read("original_max_position_embeddings", *_LENGTHS)
    _name_unread(whole)
    if config.faults:
        raise JobError(config.faults)
    return DescribedModel(
        family=family,
        settings=_without_defaults(found),
        positions=positions,
        dropout=dropout,
        unsaid=tuple(config.unsaid),
        assumed=tuple(_assumed(config)),
        language_alone=config is whole,
        quantized=bool(whole.values.get("quantization_config")),
        dtype=_dtype(whole) or _dtype(config),
    )


def config_of(path: Path) -> Path | None:
    """The config.json that a path is, or that a folder holds; None for anything else."""
    config = path / CONFIG if path.is_dir() else path
    try:
        return config if model_type(text_of(config)) else None
    except (OSError, ValueError):
        return None


def model_type(text: str) -> str | None:
    """The type of the model whose config.json a text is; None for any other text."""
    try:
        found = json_value(text)
    except ValueError:
        return None
    named = found.get("model_type") if isinstance(found, dict) else None
    return named if isinstance(named, str) else None


def _object(path: str, text: str) -> dict[str, Any]:
    try:
        found = json_value(text)
    except ValueError as error:
        message = f"`{path}` is not valid JSON: {str(error).lower()}"
        raise JobError([Diagnostic(NO_CONFIG, message, help=_HELP)]) from None
    if not isinstance(found, dict) or not isinstance(found.get("model_type"), str):
        message = f"`{path}` does not say its `model_type`"
        raise JobError([Diagnostic(NO_CONFIG, message, help=_HELP)])
    return found


_HELP = "name the config.json of a model of Hugging Face, or the folder that holds it"


def _config(source: Source, values: Mapping[str, Any]) -> tuple[Config, Config, str]:
    """The whole file, the object in it that is the language model, and the name of its family."""
    outer = str(values["model_type"])
    text = values.get("text_config")
    whole = Config(source, values, {})
    if not isinstance(text, dict) or not text:
        family = WRAPPERS.get(outer, outer)
        whole.defaults = defaults(CLASSES.get(_known(whole, family), family))
        return whole, whole, family
    family = str(text.get("model_type") or WRAPPERS.get(outer, outer))
    inner = whole.inside("text_config")
    assert inner is not None
    shared = {key: values[key] for key in ("tie_word_embeddings",) if key in values}
    inner.defaults = defaults(CLASSES.get(_known(inner, family), family)) | shared
    whole.read("tie_word_embeddings", "initializer_range")
    _name_other_parts(whole)
    return whole, inner, family


def _known(config: Config, family: str) -> str:
    if family in FAMILIES:
        return family
    message = f"parc does not know the blocks of `{family}`"
    help = "say the model yourself: `parc init --model` takes one of std, docs/language.md the rest"
    if (asked := _unsupported(config, family)) is not None:
        message, help = asked.of_model(family), asked.instead
    raise JobError([Diagnostic(NO_FAMILY, message, config.span("model_type"), help=help)])


def _unsupported(config: Config, family: str) -> Unsupported | None:
    """The unsupported feature of an unknown family, by its name or by a key such as `mamba_d_state`."""
    asked = (of_setting(key) for key, value in config.values.items() if value)
    return of_model(family) or next((each for each in asked if each in (STATE_SPACE, VISION)), None)


def _name_other_parts(whole: Config) -> None:
    for key in ("vision_config", "audio_config"):
        if key in whole.values:
            span = whole.span(key)
            why = "the job trains only the language model"
            whole.unsaid.append(Unsaid(key, span.line if span else None, why))
            whole.read(key)


def _dtype(config: Config) -> str | None:
    """The type of the published weights, by transformers' older or newer key."""
    named = config.values.get("dtype", config.values.get("torch_dtype"))
    return named if isinstance(named, str) else None


def _dropout(config: Config) -> float:
    shares = {config.number(key) for key in _DROPOUTS if config.get(key) is not None}
    if len(shares) > 1:
        config.unsay(" ".join(_DROPOUTS), "the language has one dropout for all")
        return 0.0
    return next(iter(shares), 0.0)


def _name_unread(whole: Config) -> None:
    for place, key in list(whole.unread()):
        if key in UNNEEDED or place.values[key] in NEUTRAL.get(key, ()):
            continue
        place.unsay(key, "parc does not know this key")


def _without_defaults(found: Settings) -> Settings:
    """Settings that say something: not the language's defaults, nor what follows from others."""
    fields = Model.model_fields
    implied = {
        "kv_heads": found["heads"],
        "head_dim": int(found["hidden"]) // int(found["heads"]),
        "expert_ffn": found["ffn"],
    }
    return {
        name: value
        for name, value in found.items()
        if fields[name].is_required()
        or (value != implied.get(name, fields[name].default) and value is not None)
    }


def _assumed(config: Config) -> Iterator[str]:
    sizes = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "vocab_size",
    )
    for key in sizes:
        if key in config.defaults and key not in config.values:
            yield f"{key} = {shown(config.defaults[key])}"

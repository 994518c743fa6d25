"""A name that people have for a model -> the name of the entry of the standard library that has its shape.

`meta-llama/Llama-3.1-8B-Instruct`, `unsloth/Qwen3-8B-unsloth-bnb-4bit` and `/data/models/qwen3-8b-base` name
checkpoints of a base model, or its weights in fewer bits: the sizes of their layers are those of the base.
"""

import re
from collections.abc import Iterator

from .library import named_entry, std_entries

#: Words in names of checkpoints whose sizes are those of their base model, and of types of their weights.
_TUNED = re.compile(
    r"[-_.](?:instruct|chat|base|it|hf|thinking|unsloth|dequantized|bf16|fp16|fp8|mxfp4|nvfp4"
    r"|bnb|nf4|[48]-?bit|int[48]|w[48]a16|awq|gptq)(?=[-_.]|$)",
    re.IGNORECASE,
)
_QUANTISED = re.compile(
    r"[-_.](?:bnb|nf4|[48]-?bit|int[48]|w[48]a16|awq|gptq)(?=[-_.]|$)", re.IGNORECASE
)
_INSTRUCTED = re.compile(r"[-_.](?:instruct|chat|it|thinking)(?=[-_.]|$)", re.IGNORECASE)
#: Meta's own prefix, which newer names of its models leave out.
_META = re.compile(r"^meta-(?=llama)", re.IGNORECASE)
#: Who publishes copies of others' models under their own names, converted, quantised or without a gate.
_COPIES = (
    "unsloth",
    "nousresearch",
    "modelscope",
    "llm-research",
    "ai-modelscope",
    "redhatai",
    "neuralmagic",
    "hugging-quants",
    "thebloke",
    "axolotl-ai-co",
    "axolotl-quants",
)
#: How the folder of a model in Hugging Face's cache begins: `models--Qwen--Qwen3-8B`.
_CACHED = "models--"


def without_tuning(name: str) -> str:
    """`Qwen3-8B-Instruct-bnb-4bit` -> `Qwen3-8B`."""
    return _TUNED.sub("", name)


def instructed(name: str) -> bool:
    """Whether a name says that the model follows instructions, and so is tuned further, not pre-trained."""
    return _INSTRUCTED.search(name) is not None


def quantised(name: str) -> bool:
    """Whether a name says that its weights have four or eight bits."""
    return _QUANTISED.search(name) is not None


def library_model(named: str) -> str | None:
    """The entry of a name, of a model on Hugging Face's hub, or of the last part of a local path.

    An owner that the library does not know counts where it publishes copies of others' models alone: what
    somebody else calls `Qwen3-8B` may have other layers.
    """
    for name in _readings(named.strip().removeprefix("std.")):
        for spelled in dict.fromkeys((name, without_tuning(name))):
            for text in (spelled, _META.sub("", spelled)):
                entry = named_entry("model", text) if text else None
                if entry is not None:
                    return entry.name
    return None


def local(named: str) -> bool:
    """Whether a name is a path, and not that of a hub's model."""
    return named[:1] in ("/", ".", "~") or named.count("/") > 1 or named.endswith("/")


def _readings(named: str) -> Iterator[str]:
    yield named
    cached = next((part for part in named.split("/") if part.startswith(_CACHED)), None)
    if cached is not None:
        owner, _, short = cached.removeprefix(_CACHED).partition("--")
    elif local(named):
        owner, short = "", named.rstrip("/").rpartition("/")[2]
    else:
        owner, _, short = named.rpartition("/")
    if not owner or owner.lower() in _COPIES or owner in _owners():
        yield short


def _owners() -> frozenset[str]:
    """Owners of the names that the library has."""
    names = (alias for entry in std_entries() for alias in entry.aliases if "/" in alias)
    return frozenset(alias.partition("/")[0] for alias in names)

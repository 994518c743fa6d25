"""`model_type` of a config.json -> what reads it."""

from __future__ import annotations

from collections.abc import Callable

from ..config import Config
from ..rope import Settings
from .deepseek import deepseek_v2, deepseek_v3, glm4_moe
from .gemma import gemma2, gemma3
from .gpt import falcon, gpt2, gpt_neox, gpt_oss
from .llama import granite, llama, llama4, mistral, mixtral, olmo2, olmo3, phi3
from .qwen import qwen2, qwen2_moe, qwen3, qwen3_moe

FAMILIES: dict[str, Callable[[Config], Settings]] = {
    "llama": llama,
    "llama4_text": llama4,
    "mistral": mistral,
    "mixtral": mixtral,
    "granite": granite,
    "phi3": phi3,
    "olmo2": olmo2,
    "olmo3": olmo3,
    "qwen2": qwen2,
    "qwen2_moe": qwen2_moe,
    "qwen3": qwen3,
    "qwen3_moe": qwen3_moe,
    "deepseek_v2": deepseek_v2,
    "deepseek_v3": deepseek_v3,
    "kimi_k2": deepseek_v3,
    "glm4_moe": glm4_moe,
    "gemma2": gemma2,
    "gemma3_text": gemma3,
    "gpt2": gpt2,
    "gpt_neox": gpt_neox,
    "gpt_oss": gpt_oss,
    "falcon": falcon,
}
#: Models of text and images, whose `text_config` is one of the above, by default of this type.
WRAPPERS = {"llama4": "llama4_text", "gemma3": "gemma3_text", "mistral3": "mistral"}
#: Families whose files name a type that transformers does not have -> the type whose class reads them.
CLASSES = {"kimi_k2": "deepseek_v3"}

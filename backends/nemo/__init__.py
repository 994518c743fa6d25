"""Recipes of NeMo 2 and of Megatron-Bridge, which configure a training in Python: read, and never written."""

from ..backend import when_called
from ..reader import ConfigFile, Reader

_RECIPES = f"{__name__}.recipes"

READER = Reader(
    recognise=lambda launch, texts, folder: None,
    log=lambda text: None,
    configs=(ConfigFile("py", when_called(_RECIPES, "alone"), when_called(_RECIPES, "is_recipe")),),
)

__all__ = ["READER"]

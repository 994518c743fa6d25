"""Recipes of NeMo 2 and of Megatron-Bridge, which configure a training in Python: read, and never written."""

from ..reader import ConfigFile, Reader
from .recipes import alone, is_recipe

READER = Reader(
    recognise=lambda launch, texts, folder: None,
    log=lambda text: None,
    configs=(ConfigFile("py", alone, is_recipe),),
)

__all__ = ["READER"]

"""YAML of llm-foundry and of OLMo, whose keys are those of MosaicML's Composer: read, and never written."""

from ..reader import ConfigFile, Reader
from .jobs import alone, is_config

READER = Reader(
    recognise=lambda launch, texts, folder: None,
    log=lambda text: None,
    configs=(ConfigFile("yaml", alone, is_config), ConfigFile("yml", alone, is_config)),
)

__all__ = ["READER"]

"""YAML of llm-foundry and of OLMo, whose keys are those of MosaicML's Composer: read, and never written."""

from ..backend import when_called
from ..reader import ConfigFile, Program, Reader
from .jobs import alone, is_config

#: mosaicml/llm-foundry 0.22 llmfoundry/utils/config_utils.py:437 (the batch), models/mpt/configuration_mpt.py
#: (the heads).
PROGRAM = Program(
    "foundry", "llm-foundry or OLMo", "megatron", batch_over_gpus=True, whole_heads=True
)
READER = Reader(
    recognise=lambda launch, texts, folder: None,
    log=lambda text: None,
    configs=(ConfigFile("yaml", alone, is_config), ConfigFile("yml", alone, is_config)),
    model=when_called(f"{__name__}.described", "model"),
    train=when_called(f"{__name__}.described", "train"),
    program=PROGRAM,
)

__all__ = ["READER"]

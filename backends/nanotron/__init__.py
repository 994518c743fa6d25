"""nanotron's YAML, which configures a training: read, and never written."""

from ..reader import ConfigFile, Reader
from .jobs import alone, is_config, job

READER = Reader(
    recognise=job,
    log=lambda text: None,
    configs=(ConfigFile("yaml", alone, is_config), ConfigFile("yml", alone, is_config)),
)

__all__ = ["READER"]

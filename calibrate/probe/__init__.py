"""A probe that a person runs on a cluster before any training -> its GPU and cluster, as measured."""

from .blocks import block_names, blocks_text, summary
from .measured import Measured, measured
from .rows import Probe, read_probe

__all__ = [
    "Measured",
    "Probe",
    "block_names",
    "blocks_text",
    "measured",
    "read_probe",
    "summary",
]

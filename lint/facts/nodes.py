"""What every node keeps, whichever it is."""

import re

from .launched_job import LaunchedJob

#: DGX-2 and HGX-2 have 16 GPUs, AWS p2.16xlarge 16 dies; a rack of GB200 or GB300 NVL72 is one NVLink domain.
_LARGEST, _RACK = 16, 72
_RACK_NAMES = re.compile(r"NVL72|GB[23]00", re.IGNORECASE)


def most_gpus(launch: LaunchedJob) -> int:
    """The most GPUs that a node, or a rack that its files name, can have."""
    named = any(_RACK_NAMES.search(text) for text in launch.config.texts.values())
    return _RACK if named else _LARGEST

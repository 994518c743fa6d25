"""Numbers of drawn inputs: a sample in the suite, many more in `make fuzz`, which sets PARC_FUZZ_INPUTS."""

from __future__ import annotations

import os

#: Inputs of each kind of text.
INPUTS = int(os.environ.get("PARC_FUZZ_INPUTS", "40"))
THOROUGH = INPUTS > 1000


def drawn(few: int, many: int) -> int:
    """Examples of a property: `few` in the suite, `many` in `make fuzz`."""
    return many if THOROUGH else few

"""A value of axolotl's YAML that its schema does not take: text for a number or a switch, or an empty one.

Why:
`axolotl train` validates the file before it starts anything, and stops: "Input should be a valid integer". An
empty text is none of them: a key without a value stands for its default.

Bad:
--- train.sh
axolotl train lora.yaml
--- lora.yaml
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
micro_batch_size: 1
gradient_accumulation_steps: 8
early_stopping_patience: ""

Good:
--- train.sh
axolotl train lora.yaml
--- lora.yaml
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
micro_batch_size: 1
gradient_accumulation_steps: 8
early_stopping_patience:
"""

import re
from collections.abc import Iterator

from ....backends.huggingface.axolotl_schema import INTEGERS, NUMBERS, SWITCHES, TRUTH
from ....backends.huggingface.option_rows import BASE
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR464"
TITLE = "a value that axolotl's schema does not take"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "axolotl-ai-cloud/axolotl@067b021c src/axolotl/utils/schemas/config.py, and @0134093a "
    "utils/config/models/input/v0_4_1; tried with pydantic 2"
)
SINCE = "2026-12"
FILE = "train.sh"

_NUMBER = re.compile(
    r"[-+]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|infinity|nan)", re.I
)
_WHOLE = re.compile(r"[-+]?\d+(?:_\d+)*(?:\.0*)?")
_NONE = ("null", "~")
_TRUE = ("true", "false")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.setting("yaml", BASE) is None:
        return
    for setting in launch.all("yaml"):
        name, text = setting.name, text_of(setting)
        wanted = _wanted(name, text) if text is not None and text not in _NONE else None
        if wanted is None or re.search(r"[$<{]", text or ""):
            continue
        if launch.option(f"--{name.replace('_', '-')}") is None:
            shown = f"`{text}`" if text else "an empty text"
            message = f"{name} takes {wanted}, not {shown}: axolotl stops"
            yield Complaint(message, setting, help=None if text else f"{name}:")


def _wanted(name: str, text: str) -> str | None:
    """The kind of value that a key takes, where the text is of another."""
    plain = text.strip()
    if name in SWITCHES:
        return None if plain.lower() in TRUTH else "true or false"
    if name in INTEGERS:
        return None if plain.lower() in _TRUE or _WHOLE.fullmatch(plain) else "a whole number"
    if name in NUMBERS:
        return None if plain.lower() in _TRUE or _NUMBER.fullmatch(plain) else "a number"
    return None

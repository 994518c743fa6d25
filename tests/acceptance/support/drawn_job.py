"""The dice of one generated job, and what it is for."""

from dataclasses import dataclass
from random import Random
from typing import Any

#: Settings of a block, in writing order.
Settings = dict[str, Any]


@dataclass(frozen=True)
class Draw:
    """One job's dice, and what it asks for: a target and its version, which is empty for the default, or `hf`
    for DeepSpeed with the Llama of transformers."""

    dice: Random
    target: str
    version: str

    def one(self, *choices: Any) -> Any:
        return self.dice.choice(choices)

    def happens(self, share: float) -> bool:
        return self.dice.random() < share

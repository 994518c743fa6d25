"""What Megatron-LM demands: of layouts, which the compiler asks too, and of options."""

from .arguments import CONSTRAINTS
from .layouts import PREDICATES

__all__ = ["CONSTRAINTS", "PREDICATES"]

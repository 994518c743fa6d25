"""Rules of Megatron-LM: for layouts, which the compiler asks too, and for options."""

from .arguments import CONSTRAINTS
from .layouts import PREDICATES

__all__ = ["CONSTRAINTS", "PREDICATES"]

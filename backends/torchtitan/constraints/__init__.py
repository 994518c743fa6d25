"""Demands of torchtitan: on layouts, which the compiler asks too, and on its configuration."""

from .layouts import PREDICATES
from .settings import CONSTRAINTS

__all__ = ["CONSTRAINTS", "PREDICATES"]

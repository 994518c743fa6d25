"""Demands of DeepSpeed: on layouts, which the compiler asks too, and on the keys of its configuration."""

from .keys import CONSTRAINTS
from .layouts import PREDICATES

__all__ = ["CONSTRAINTS", "PREDICATES"]

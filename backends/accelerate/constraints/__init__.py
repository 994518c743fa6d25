"""Demands of accelerate on layouts, which the compiler asks."""

from .layouts import PREDICATES

__all__ = ["PREDICATES"]

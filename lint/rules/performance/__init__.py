"""Layouts that start, and do not fit into memory or are slow."""

from . import head_dim, memory, other_fabric, slow_layout

MODULES = (
    memory,
    head_dim,
    slow_layout,
    other_fabric,
)

"""A target without a framework: `Plan` -> no files; its layout and its price are the answer."""

from ..backend import Backend

BACKEND = Backend(__name__, emit=lambda plan: {}, facts=lambda plan: {}, brief={})

__all__ = ["BACKEND"]

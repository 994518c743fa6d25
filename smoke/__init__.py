"""A plan -> the same plan made small, and what became of training it for a few steps here."""

from .frameworks import FRAMEWORKS
from .interpreter import Interpreter, look_into
from .run import Outcome, Request, Step, smoke

__all__ = ["FRAMEWORKS", "Interpreter", "Outcome", "Request", "Step", "look_into", "smoke"]

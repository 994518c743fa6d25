"""A plan -> the same plan made small, and what became of training it for a few steps here."""

from .frameworks import FRAMEWORKS
from .interpreter import Interpreter, look_into
from .run import Outcome, Prepared, Request, Step, prepare, smoke, steps_of

__all__ = [
    "FRAMEWORKS",
    "Interpreter",
    "Outcome",
    "Prepared",
    "Request",
    "Step",
    "look_into",
    "prepare",
    "smoke",
    "steps_of",
]

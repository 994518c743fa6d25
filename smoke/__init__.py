"""A plan -> the same plan made small, and what became of training it for a few steps here."""

from ..backends.smoke_run import Interpreter
from .interpreter import look_into
from .run import Outcome, Prepared, Request, Step, prepare, smoke, steps_of

__all__ = [
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

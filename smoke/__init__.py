"""A plan -> the same plan made small, and the outcome of training it for a few steps on this machine."""

from ..backends.smoke_run import Interpreter
from .interpreter import look_into
from .smoke_run import Outcome, Prepared, Request, Step, prepare, smoke, smoke_stages, steps_of

__all__ = [
    "Interpreter",
    "Outcome",
    "Prepared",
    "Request",
    "Step",
    "look_into",
    "prepare",
    "smoke",
    "smoke_stages",
    "steps_of",
]

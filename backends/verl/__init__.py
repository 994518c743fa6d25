"""verl's commands, whose Hydra overrides configure the training of the actor: read, and never written."""

from ..reader import Reader
from .jobs import job
from .overrides import TELLING

READER = Reader(recognise=job, log=lambda text: None, telling=TELLING)

__all__ = ["READER"]

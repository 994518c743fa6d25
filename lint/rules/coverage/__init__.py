"""What lint itself could not judge, or was told to ignore for nothing."""

from . import unknown_fact, unused_ignore

MODULES = (
    unknown_fact,
    unused_ignore,
)

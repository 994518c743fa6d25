"""What lint itself could not judge, or was told to ignore for nothing."""

from . import not_read, unknown_fact, unused_ignore

MODULES = (
    unknown_fact,
    unused_ignore,
    not_read,
)

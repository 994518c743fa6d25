"""Rules on lint itself: parts that it could not judge, and ignores that hide nothing."""

from . import not_read, unknown_fact, unused_ignore

MODULES = (
    unknown_fact,
    unused_ignore,
    not_read,
)

"""Rules on checkpoints: what a job keeps of its training, and whether the next start finds it."""

from . import (
    array_into_one_folder,
    checkpoint_interval,
    lost_with_container,
    other_layout,
    restart_from_nothing,
    same_folder,
    signal_unheard,
)

MODULES = (
    restart_from_nothing,
    checkpoint_interval,
    signal_unheard,
    lost_with_container,
    same_folder,
    other_layout,
    array_into_one_folder,
)

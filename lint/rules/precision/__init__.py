"""Number formats that disagree, switch themselves off, or that kernels do not take."""

from . import (
    flat_integers,
    precision_mismatch,
    single_precision,
    two_precisions,
)

MODULES = (
    two_precisions,
    precision_mismatch,
    flat_integers,
    single_precision,
)

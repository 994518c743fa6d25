"""Demands of the toy on its options, a row each."""

from __future__ import annotations

from parc.backends.constraints import Clash, Constraints, Need

CONSTRAINTS: Constraints = {
    "PAR303": (Need("--toy-decay", ("--toy-decay-steps",), "toy_train.py: asserted"),),
    "PAR312": (Clash("--toy-decay", "--toy-warmup > 1", "toy_train.py: asserted"),),
}

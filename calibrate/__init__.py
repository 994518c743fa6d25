"""Logs of real runs -> the few parameters of their cluster, and a `.par` file that says them."""

from __future__ import annotations

from .calibration import Calibration, Compared, calibrate
from .fragment import fragment, is_ours, names

__all__ = ["Calibration", "Compared", "calibrate", "fragment", "is_ours", "names"]

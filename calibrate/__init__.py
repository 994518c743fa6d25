"""Logs of real runs -> the few parameters of their cluster, and a `.par` file that states them."""

from .calibration import Calibration, Compared, calibrate
from .site_file import definition_names, is_ours, site_text

__all__ = ["Calibration", "Compared", "calibrate", "definition_names", "is_ours", "site_text"]

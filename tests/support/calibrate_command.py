"""What `parc calibrate` ended with, and the type of the fixture that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.ran import Ran


class Calibrated(Ran):
    def parameter(self, name: str) -> dict[str, Any]:
        return next(each for each in self.json["parameters"] if each["name"] == name)

    def fitted(self, setting: str) -> float:
        found = [
            each["settings"][setting]["fitted"]
            for each in self.json["parameters"]
            if setting in each["settings"]
        ]
        return float(found[0])


Calibrate = Callable[..., Calibrated]

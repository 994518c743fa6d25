"""What `parc calibrate` ended with, and the type of the fixture that runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class Ran:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        return document

    def parameter(self, name: str) -> dict[str, Any]:
        return next(each for each in self.json["parameters"] if each["name"] == name)

    def fitted(self, setting: str) -> float:
        found = [
            each["settings"][setting]["fitted"]
            for each in self.json["parameters"]
            if setting in each["settings"]
        ]
        return float(found[0])


Calibrate = Callable[..., Ran]

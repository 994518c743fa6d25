"""Defects that the lint manifest names -> which of them the rules find, and what they report beside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parc.backends.backend import LaunchConfig
from parc.lint.engine import Options, judge

_CODE = re.compile(r"PAR\d{3}")


@dataclass(frozen=True)
class Defects:
    """Codes that a file has, and codes that were reported as errors and as warnings; None where nothing was."""

    wanted: frozenset[str]
    errors: frozenset[str] | None
    warnings: frozenset[str] | None

    @classmethod
    def none(cls, row: Mapping[str, str]) -> Defects:
        return cls(frozenset(_CODE.findall(row.get("defects", ""))), frozenset(), frozenset())

    @staticmethod
    def summary(found: Sequence[Defects]) -> dict[str, int]:
        return {
            "found": sum(len(item.wanted & item.reported) for item in found),
            "total": sum(len(item.wanted) for item in found),
            "false_errors": sum(len((item.errors or frozenset()) - item.wanted) for item in found),
            "false_warnings": sum(
                len((item.warnings or frozenset()) - item.wanted) for item in found
            ),
        }

    @property
    def reported(self) -> frozenset[str]:
        return (self.errors or frozenset()) | (self.warnings or frozenset())

    def record(self) -> dict[str, Any]:
        return {
            "defects": sorted(self.wanted),
            "missed": sorted(self.wanted - self.reported),
            "false_errors": sorted((self.errors or frozenset()) - self.wanted),
            "false_warnings": sorted((self.warnings or frozenset()) - self.wanted),
        }


def defects_of(row: Mapping[str, str], configs: Sequence[LaunchConfig]) -> Defects:
    """What the rules say of every job in a file; hints (`info`) count where the manifest asks for them."""
    found = [each for judged in judge(configs, Options()) for each in judged.findings]
    wanted = frozenset(_CODE.findall(row.get("defects", "")))
    codes = {
        level: frozenset(each.code for each in found if each.severity == level)
        for level in ("error", "warning", "info")
    }
    hints = codes["info"] & wanted
    return Defects(wanted, codes["error"], codes["warning"] | hints)

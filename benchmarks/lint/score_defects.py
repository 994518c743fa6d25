"""Defects that the lint manifest names -> which of them the rules find, and what they report beside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parc.lint.judging import LintOptions, judge
from parc.reading.facts import LaunchConfig

_CODE = re.compile(r"PAR\d{3}")


@dataclass(frozen=True)
class Defects:
    """Codes that a file has, and codes that were reported of it as errors and as warnings."""

    wanted: frozenset[str]
    errors: frozenset[str] = frozenset()
    warnings: frozenset[str] = frozenset()
    hints: frozenset[str] = frozenset()

    @property
    def reported(self) -> frozenset[str]:
        return self.errors | self.warnings | self.hints

    def record(self) -> dict[str, Any]:
        return {
            "defects": sorted(self.wanted),
            "missed": sorted(self.wanted - self.reported),
            "false_errors": sorted(self.errors - self.wanted),
            "false_warnings": sorted(self.warnings - self.wanted),
        }


def wanted(row: Mapping[str, str]) -> Defects:
    """Defects of the manifest, with nothing reported."""
    return Defects(frozenset(_CODE.findall(row.get("defects", ""))))


def defects_of(row: Mapping[str, str], configs: Sequence[LaunchConfig]) -> Defects:
    """Findings of the rules on a file, without a job to compare it with."""
    by_severity: dict[str, set[str]] = {"error": set(), "warning": set(), "info": set()}
    arguments = () if row.get("copy") else tuple(row.get("invocation", "").split())
    for judged in judge(configs, LintOptions(arguments=arguments)):
        for finding in judged.findings:
            by_severity[finding.diagnostic.severity].add(finding.code)
    return Defects(wanted(row).wanted, *map(frozenset, by_severity.values()))


def summary(found: Sequence[Defects]) -> dict[str, int]:
    return {
        "found": sum(len(item.wanted & item.reported) for item in found),
        "total": sum(len(item.wanted) for item in found),
        "false_errors": sum(len(item.errors - item.wanted) for item in found),
        "false_warnings": sum(len(item.warnings - item.wanted) for item in found),
    }

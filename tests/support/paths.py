"""Where the tree, its examples and the tests' own files lie, whatever the working directory."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
CASES = TESTS / "cases"
GOLDEN = TESTS / "golden"

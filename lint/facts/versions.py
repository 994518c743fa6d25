"""Releases of frameworks: which is older."""

import re


def older(version: str, than: str) -> bool:
    """Whether a release such as "0.15.1" comes before another, as far as both are written out."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part[:18]) for part in re.findall(r"\d+", version)[:3])


def is_version(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+){0,3}", text) is not None

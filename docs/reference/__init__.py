"""The pages of the site that are made from code: a path below docs/ -> its Markdown."""

from __future__ import annotations

from docs.reference import codes, command_line, examples, library, settings


def pages() -> dict[str, str]:
    """Every generated page by its path, in no order."""
    return {
        "reference/settings.md": settings.page(),
        "reference/command-line.md": command_line.page(),
        "reference/hardware.md": library.hardware(),
        "reference/models.md": library.models(),
        **codes.pages("reference/codes"),
        **examples.pages("examples"),
    }

"""The page of plans that an earlier run wrote, or a repository has brought -> whether it may stay."""

from dataclasses import dataclass
from pathlib import Path

from parc.dsl.diagnostics import Diagnostic

from . import codes
from .printing.terminal import print_diagnostics


@dataclass(frozen=True)
class EarlierPage:
    """The place of a page, and whether this run writes to it."""

    place: Path
    writes: bool

    def is_known(self, page: str) -> bool:
        """Whether this user's parc has written it."""
        from .writing.receipts import is_remembered

        return is_remembered(self.place, page.encode())

    def stands_for(self, page: str, ours: str) -> bool:
        """Whether it is ours in all but the release of plotly; with another one it is replaced where this run
        writes, since nobody here knows what that script does."""
        from parc.report.html import plotly_of
        from parc.report.plotting import is_installed

        packed = plotly_of(page, ours)
        if packed is None or is_installed(packed):
            return packed is not None
        if not self.writes:
            print_diagnostics([_other_script(self.place)])
        return not self.writes

    def remember(self, page: str) -> None:
        from .writing.receipts import remember

        remember(self.place, page.encode())


def _other_script(place: Path) -> Diagnostic:
    message = f"`{place}` carries another script than that of the plotly installed here"
    help = "it is not looked into: `parc compile` without --check draws the page anew"
    return Diagnostic(codes.OTHER_SCRIPT, message, help=help, severity="warning")

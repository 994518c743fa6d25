"""A rule's report (`Complaint` or `Skipped`), and a complaint with its rule and spans (`Finding`)."""

from dataclasses import dataclass, field

from ..compiler.target import Effect
from ..dsl.codes import NO_FILES
from ..dsl.diagnostics import Diagnostic, Severity, Span
from ..reading.facts import Fact, Setting

#: The levels of a finding, the lowest first, as `--fail-on` and a project's `fail-on` name them.
LEVELS = ("info", "warning", "error", "never")


@dataclass(frozen=True)
class Place:
    """A stretch of a text that is neither a fact nor a setting. Lines and columns start at 1."""

    path: str
    line: int
    column: int = 1
    length: int = 1


#: A span is a place in a file that is not among those judged, such as the job.
At = Fact | Setting | Place | Span


@dataclass(frozen=True)
class Edit:
    """The characters from `start` to `end` of a file's text, replaced."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Related:
    """Another position that belongs to a complaint, with a text about it."""

    message: str
    at: At


@dataclass(frozen=True)
class Complaint:
    """A rule's complaint. The first line alone must be enough: the arithmetic, with its numbers.

    `severity` replaces the rule's own where a case is milder or worse. `edits` is the one safe cure. `case`
    names a case of the rule that has a record of its own. `effect` is what the framework does, where the rule
    has cases that it does not stop for, or stops for in this case alone, `since` its first release that does
    and `until` the first that does so no more. `framework` is the one that does, where that is not the job's.
    """

    message: str
    at: At
    related: tuple[Related, ...] = ()
    help: str | None = None
    severity: Severity | None = None
    edits: tuple[Edit, ...] = ()
    case: str = ""
    effect: Effect | None = None
    since: str = ""
    until: str = ""
    framework: str = ""


@dataclass(frozen=True)
class Skipped:
    """A rule that could not judge, because these facts are unknown, or for the reason `why`."""

    facts: frozenset[str] = frozenset()
    why: str = ""


@dataclass(frozen=True)
class Finding:
    """A complaint with its rule's name and its places as spans. `path` is that of its job."""

    name: str
    diagnostic: Diagnostic
    path: str
    edits: tuple[Edit, ...] = field(default=(), compare=False)

    @property
    def code(self) -> str:
        return self.diagnostic.code

    @property
    def file(self) -> str:
        """The name of the file that it is about."""
        span = self.diagnostic.span
        return span.source.name if span else self.path

    @property
    def severity(self) -> Severity:
        return self.diagnostic.severity


@dataclass(frozen=True)
class WithoutLaunch:
    """A named file or folder that holds nothing to judge: `why` says what it is, `help` what reads it."""

    path: str
    why: str
    help: str

    @property
    def diagnostic(self) -> Diagnostic:
        message = f"nothing here that parc lint reads: {self.why}"
        return Diagnostic(NO_FILES, message, help=self.help)

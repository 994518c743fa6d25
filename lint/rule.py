"""A rule: a module of `rules/` with these names, whose docstring is its page (What, Why, Bad, Good), or rows
of a framework (`rules/row_rules.py`)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType

from ..dsl.diagnostics import Severity
from ..dsl.inputs.docstrings import docstring
from .facts.launched_job import LaunchedJob
from .finding import Complaint, Skipped

Check = Callable[[LaunchedJob], Iterator[Complaint | Skipped]]

#: The first dated set of rules.
FIRST = "2026-11"
#: The headings of a page, in order; What is the text before the first of them.
HEADINGS = ("Why", "Bad", "Good")
#: A file of an example that is the job, not one of the launch files.
JOB = "job.par"
_HEADING = re.compile(rf"^({'|'.join(HEADINGS)}):$", re.MULTILINE)
_FILE = re.compile(r"^--- (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """`text` gives its page, `file` the name of the example's file, where the example does not name its own.

    `options` are those of `parc lint` without which the examples are not judged. `asked` rules run only when
    they are selected by name. `since` is the dated set of rules in which it first spoke, a year and a month.
    `training` rules judge programs that train, and no evaluation or conversion. What `release_bound` rules
    say depends on the release of the framework, what those `of_job` say on the job that the user gives, what
    those `of_reading` say on parc alone: they speak unless they are ignored by name. `stops` is what ends
    the run for the errors of a rule (`certainty`); empty where it may go on. `priced` is what such a rule
    judges by a price, which `--spec` or `--cluster` asks for: where it cannot, the summary says so.
    """

    code: str
    name: str
    title: str
    severity: Severity
    source: str
    check: Check
    text: Callable[[], str]
    file: str = "train.sh"
    options: tuple[str, ...] = ()
    asked: bool = False
    since: str = FIRST
    training: bool = False
    release_bound: bool = False
    of_job: bool = False
    of_reading: bool = False
    stops: str = ""
    priced: str = ""

    @property
    def page(self) -> dict[str, str]:
        """The texts under What, Why, Bad and Good."""
        first, *rest = _HEADING.split(self.text())
        texts = dict(zip(rest[::2], rest[1::2], strict=True))
        return {"What": first.strip()} | {name: text.strip("\n") for name, text in texts.items()}

    def example(self, heading: str) -> dict[str, str]:
        """The files of the bad or the good example, by name. A good one has the files that it does not name
        from the bad one."""
        text = self.page[heading] + "\n"
        first, *rest = _FILE.split(text)
        named = {name: body.lstrip("\n") for name, body in zip(rest[::2], rest[1::2], strict=True)}
        bad = self.example("Bad") if named and heading == "Good" else {}
        return {**bad, **named} or {self.file: first}

    def arguments(self, heading: str) -> list[str]:
        """Arguments of `parc lint` that judge the bad or the good example, without files in folders."""
        files = sorted(name for name in self.example(heading) if "/" not in name)
        spec = [word for name in files if name == JOB for word in ("--spec", name)]
        return [*(name for name in files if name != JOB), *spec, *self.options]


def rule_of(module: ModuleType) -> Rule:
    """The rule that a module of `rules/` describes."""
    return Rule(
        code=module.CODE,
        name=module.__name__.rpartition(".")[2].replace("_", "-"),
        title=module.TITLE,
        severity=module.SEVERITY,
        source=module.SOURCE,
        check=module.check,
        text=partial(docstring, module),
        file=getattr(module, "FILE", "train.sh"),
        options=getattr(module, "OPTIONS", ()),
        asked=getattr(module, "ASKED", False),
        since=getattr(module, "SINCE", FIRST),
        training=getattr(module, "TRAINING", False),
        release_bound=getattr(module, "RELEASE_BOUND", False),
        of_job=getattr(module, "OF_JOB", False),
        of_reading=getattr(module, "OF_READING", False),
        stops=getattr(module, "STOPS", ""),
        priced=getattr(module, "PRICED", ""),
    )

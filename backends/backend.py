"""The seam of a backend: everything that parc knows of a framework, declared in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from ..compiler.plan import Plan
    from ..compiler.target import Codes, Target
    from ..dsl.diagnostics import Diagnostic
    from ..dsl.job import Job
    from ..reading.facts import LaunchConfig, Value
    from .checkpoint_files import Checkpoints
    from .constraints import Constraints
    from .following import Need
    from .reader import Reader
    from .resume import Resume
    from .smoke_run import SmokeRun
    from .stack_facts import Stack


#: Files that a target trains on: ids one after another, those with an index beside them, rows of text.
DataForm = Literal["", "flat", "indexed", "rows"]
NO_FILES: Mapping[str, str] = MappingProxyType({})


def when_called(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is first called: who reads a job writes no files."""

    def function(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    function.__module__, function.__name__ = module, name
    return function


@dataclass(frozen=True)
class Backend:
    """Everything that parc knows of a framework: what its `package` declares in `target.py`,
    `constraints`, `stack.py`, `smoke.py`, `resume.py`, `checkpoint.py` and `read/`, each loaded when it is
    asked for.

    `emit(plan)` gives file texts by path below the output folder and raises `JobError` for what the framework
    cannot express. `facts(plan)` is what reading those files must give back, in a plan's words. With the
    settings of `brief` a run leaves no checkpoint, does nothing beside its steps and reports each. `first` is
    what the target of a first job says, with a remark: where to put data, of the form `reads_data`.
    `follows(previous, job)` is what the layout of the next stage, `job`, needs so that it loads what it
    carries of a stage's plan.
    `last_step(plan)` is the command that prints the step of a run's newest checkpoint, which a launcher asks
    before and after a start. `probed` is the release, one that the target writes for, as which `parc measure`
    prices the steps of its small models; of one framework alone. A job of `parc init` names those that are
    `for_tuning` alone where it fine-tunes or is asked to.
    """

    package: str
    emit: Callable[[Plan], dict[str, str]]
    facts: Callable[[Plan], dict[str, Value]]
    brief: Mapping[str, Any]
    first: tuple[str, str] = ("", "")
    reads_data: DataForm = ""
    probed: str = ""
    for_tuning: bool = False
    follows: Callable[[Plan, Job], tuple[Need, ...]] = lambda previous, job: ()
    last_step: Callable[[Plan], str] = lambda plan: "true"

    @property
    def target(self) -> Target:
        """The framework as the compiler sees it: which layouts it runs, and their prices."""
        target: Target = import_module(f"{self.package}.target").TARGET
        return target

    @property
    def constraints(self) -> Constraints:
        """Demands of the framework on its options, beside the predicates of the target; none where its
        package has predicates alone."""
        rows: Constraints = getattr(import_module(f"{self.package}.constraints"), "CONSTRAINTS", {})
        return rows

    @property
    def pages(self) -> Mapping[str, str]:
        """Code -> the page of a rule of lint that is nothing but its rows or predicates: what it checks, then
        Why, Bad and Good."""
        pages: Mapping[str, str] = import_module(f"{self.package}.constraints.pages").PAGES
        return pages

    @property
    def entry(self) -> str:
        """The emitted script that starts the job on one node: it reads NNODES, NODE_RANK, MASTER_ADDR and
        MASTER_PORT (defaults: one node, rank 0, this machine) and is made executable."""
        entry: str = import_module(f"{self.package}.target").ENTRY
        return entry

    @property
    def stack(self) -> Stack:
        """How a job states each fact of `stack_facts.FACTS`, or the value that it always has."""
        stack: Stack = import_module(f"{self.package}.stack").FACTS
        return stack

    @property
    def smoke(self) -> SmokeRun:
        """Trains a small job on this machine."""
        smoke: SmokeRun = import_module(f"{self.package}.smoke").SMOKE
        return smoke

    @property
    def resume(self) -> Resume:
        """The table of which checkpoints load after a change of layout."""
        resume: Resume = import_module(f"{self.package}.resume").RESUME
        return resume

    @property
    def checkpoints(self) -> Checkpoints:
        """Finds the newest checkpoint of a folder, and the run that saved it, without loading it."""
        found: Checkpoints = import_module(f"{self.package}.checkpoint").CHECKPOINTS
        return found

    @property
    def reader(self) -> Reader:
        """Understands launch files and logs, the framework's own and other people's."""
        reader: Reader = import_module(f"{self.package}.read").READER
        return reader


class Starts(Protocol):
    """Function that writes a launcher's files from a plan, its entry script and the target's files."""

    def __call__(
        self, plan: Plan, entry: str, files: Mapping[str, str] = NO_FILES, /
    ) -> dict[str, str]: ...


@dataclass(frozen=True)
class Launcher:
    """A way to start a plan's `entry` on all nodes: `emit(plan, entry, files)` gives its files; those of the
    target are at hand.

    `array(plans, folder, log)` gives the file that runs plans of one shape one after another, plan n in
    `folder`n, where it writes `log`; None where the launcher has no such thing.
    `start` is the command that starts a plan's run, by the output folder and the file `NAME/TARGET.*` in it.
    `read(files)` is the inverse of `emit`, and `facts(plan)` what it must give back.
    `warnings(plan)` tells what the files do not reach. `codes` names what `emit` and `warnings` complain of,
    `manual` is the page that says why.
    """

    name: str
    emit: Starts
    array: Callable[[Sequence[Plan], str, str], dict[str, str]] | None
    read: Callable[[Mapping[str, str]], LaunchConfig]
    facts: Callable[[Plan], dict[str, Value]]
    warnings: Callable[[Plan], Iterator[Diagnostic]]
    codes: Codes
    manual: str
    start: str = "bash {folder}/{file}"

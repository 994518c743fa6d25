"""How launch files of a framework are recognised, read and described: what `Backend.reader` declares."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..reading.bash.script import Folder
from ..reading.facts import LaunchConfig, Setting
from ..reading.launchers import Started
from .dated import Dated
from .kept import Files, Kept
from .log import RunLog

#: Settings of a block of the language by name.
Values = dict[str, Any]


class Missing(Exception):
    """A value that the files do not say, or do not decide; `unknown` names the undecided fact."""

    def __init__(self, name: str, unknown: bool = False) -> None:
        super().__init__(name)
        self.name = name
        self.unknown = unknown


class Asked(Protocol):
    """A launched job of which a predicate asks values; each value looked at is remembered with its place."""

    @property
    def config(self) -> LaunchConfig: ...

    def number(self, name: str) -> int:
        """A fact that is a whole number; raises `Missing`."""

    def option(self, *names: str) -> int | None:
        """The number behind an option, None when it is not given; raises `Missing` where it is no number."""


#: By the name of a model's, a training's or a layout's value; an answer raises `Missing`.
Answers = Mapping[str, Callable[[Asked], Any]]


def nothing(config: LaunchConfig) -> Values:
    return {}


@dataclass(frozen=True)
class ConfigFile:
    """A kind of configuration file that is a job even where no command names it.

    `jobs(path, text, texts)` reads one such file among all `texts`. When a folder is searched, `tells` says
    of a text whether it is one; without it only files that the user names are read.
    """

    suffix: str
    jobs: Callable[[str, str, Mapping[str, str]], Iterator[LaunchConfig]]
    tells: Callable[[str], bool] | None = None


@dataclass(frozen=True)
class Program:
    """A program that is no backend's, whose files are read and never written.

    `name` is the program of its jobs' kind, `target` the framework in whose words they are imported. The rest
    is what rules ask of its sums, each with its source in the program's package.
    """

    name: str
    title: str
    target: str
    mesh: tuple[str, ...] = ()
    """Degrees whose product is the number of GPUs, where experts have no further ranks."""
    unfilled: Mapping[str, int] = field(default_factory=dict)
    """Order of a pipeline's passes -> by how much its micro-batches may be fewer than its ranks."""
    batch_over_gpus: bool = False
    """Whether the GPUs divide the global batch, whatever the micro-batch is."""
    whole_heads: bool = False
    """Whether the heads divide the width."""


@dataclass(frozen=True)
class Reader:
    """Readers of a framework's files for `parc lint`, `parc import` and `parc calibrate`."""

    recognise: Callable[[Started, Mapping[str, str], Folder], LaunchConfig | None]
    """The job of a launched command, None for one of another program; `texts` and `folder` have its files."""
    log: Callable[[str], RunLog | None]
    """What a run printed; None for the log of another framework."""
    launcher_file: Callable[[Started, Mapping[str, str], Folder], LaunchConfig | None] = (
        lambda launch, texts, folder: None
    )
    """What a configuration of the launcher says, where the program is no framework's; None without one."""
    configs: tuple[ConfigFile, ...] = ()
    """Its configuration files."""
    telling: str = ""
    """A regular expression for what only scripts of this framework hold, to find them in a folder."""
    model: Callable[[LaunchConfig], Values] = nothing
    """Settings of the `model` block beside layers, hidden, heads and kv_heads."""
    train: Callable[[LaunchConfig], Values] = nothing
    """Settings of the `train` block beside seq_len, global_batch and precision, of any launched command."""
    answers: Answers = field(default_factory=dict)
    """What predicates ask of a job and its facts do not say, such as a default of the framework."""
    options: Callable[[LaunchConfig], Values] = nothing
    """Settings of the target block that would write such files, such as its release."""
    layout: Callable[[LaunchConfig], Values] = nothing
    """Decisions of the layout beside facts, by name."""
    says: Callable[[LaunchConfig, Setting], bool | None] = field(
        default=lambda config, setting: None
    )
    """Whether a job says a setting of the framework, or parc decides it with every job; False where no job
    can, None where the job that is written of the files tells."""
    refines: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Fact -> settings that change its meaning: where one of them is lost, a job does not say the fact."""
    unread: Callable[[LaunchConfig], Iterator[Setting]] = field(default=lambda config: iter(()))
    """What is lost of its files beside their settings, such as arguments of a model in Python."""
    variables: frozenset[str] = frozenset()
    """Variables of the environment that parc sets with each of its jobs."""
    fork: Callable[[LaunchConfig], str | None] = field(default=lambda config: None)
    """The name of the fork whose files these are, None for the framework itself."""
    arithmetic: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Program of a job without a framework, with its variant -> codes of this one's predicates that hold for
    it, too."""
    program: Program | None = None
    """What is read, where it is no backend's."""
    kept: Callable[[LaunchConfig], Kept | None] = field(default=lambda config: None)
    """What the files say of checkpoints; None for those of another program."""
    layout_at: Callable[[LaunchConfig, str, Files], Mapping[str, int]] = field(
        default=lambda config, folder, files: {}
    )
    """Of a folder of checkpoints the layout that wrote its newest one, by fact, as far as names tell."""
    asked_first: bool = False
    """Whether it recognises jobs that other readers take for those of any program."""
    dated: Dated | None = None
    """How they tell the framework's release, where lint has tables of what each release accepts."""

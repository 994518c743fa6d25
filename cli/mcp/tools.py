"""The tools: what each takes, as models that check it -> the command line that answers it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from parc.dsl.syntax.sources import MAX_BYTES

#: Texts of launch files that one call may carry, the length of all of them, and items of any list.
MOST_TEXTS, MOST_TEXT, MOST_ITEMS = 64, 1024 * 1024, 1000
#: The name that a job has which comes as a text; its imports are sought beside it.
JOB_NAME = "job.par"

Word = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
Words = Annotated[tuple[Word, ...], Field(max_length=MOST_ITEMS)]
Table = Annotated[dict[Word, Word], Field(max_length=MOST_ITEMS)]


class Arguments(BaseModel, ABC):
    """The arguments of a tool; others than it names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def words(self) -> Iterator[str]:
        """The words of the command line, behind the command itself."""

    def names(self) -> Sequence[str]:
        """The names of files, each of which must lie below the folder that is served."""
        return ()

    def texts(self) -> Mapping[str, str]:
        """Launch files by name that come as texts: then no others are read."""
        return {}

    def job_text(self) -> str | None:
        """The text that stands for the file `JOB_NAME`."""
        return None


class JobArguments(Arguments):
    """A job, and what of it is asked about."""

    job: str | None = Field(
        None,
        max_length=MAX_BYTES,
        description="The text of a job in parc's language. Give this or `file`.",
    )
    file: Word | None = Field(
        None, description="The name of a job file below the folder that is served."
    )
    set: Words = Field((), description="Settings to override, such as `train.seq_len=4096`.")

    @model_validator(mode="after")
    def _one_job(self) -> JobArguments:
        if (self.job is None) == (self.file is None):
            raise ValueError("give either `job`, a text, or `file`, a name")
        return self

    def words(self) -> Iterator[str]:
        yield _name(self.file or JOB_NAME)
        yield "--json"
        yield from _repeated("--set", self.set)

    def names(self) -> Sequence[str]:
        return (self.file,) if self.file is not None else ()

    def job_text(self) -> str | None:
        return self.job


class PlanArguments(JobArguments):
    """A job, and which of its targets and stages."""

    targets: Words = Field((), description="Only these targets of the job, such as `megatron`.")
    stage: Word | None = Field(None, description="Only this stage of a job in several stages.")

    def words(self) -> Iterator[str]:
        yield from super().words()
        yield from _repeated("--target", self.targets)
        if self.stage is not None:
            yield f"--stage={self.stage}"


class EstimateArguments(PlanArguments):
    """A job and the layout that is priced on it."""

    layout: Word = Field(
        description="The degrees, such as `tp=8,pp=4,recompute=full`; others are 1 or follow."
    )

    def words(self) -> Iterator[str]:
        yield from super().words()
        yield f"--layout={self.layout}"


class ExplainArguments(PlanArguments):
    """A job, and the layout that its plan is compared with."""

    against: Word | None = Field(
        None,
        pattern=r"^\w+=[^/]*$",
        description="A layout such as `tp=4,pp=8`: where it differs from the plan, term by term.",
    )
    against_files: Words = Field(
        (), description="The launch files of that layout, by names below the folder."
    )

    @model_validator(mode="after")
    def _one_other(self) -> ExplainArguments:
        if self.against is not None and self.against_files:
            raise ValueError("give either `against`, a layout, or `against_files`, names")
        return self

    def words(self) -> Iterator[str]:
        yield from super().words()
        if self.against is not None or self.against_files:
            yield "--against"
            yield from (self.against,) if self.against else map(_name, self.against_files)

    def names(self) -> Sequence[str]:
        return (*super().names(), *self.against_files)


class LaunchArguments(Arguments):
    """Launch files, by name or as texts, and how they are started."""

    files: Words = Field((), description="Names of launch files below the folder that is served.")
    given: Table = Field(
        {},
        alias="texts",
        description="Launch files as texts by their names, instead of `files`: no other file is read.",
    )
    env: Table = Field({}, description="Variables of the environment that scripts see.")
    arguments: Words = Field((), description="Arguments of the script.")
    cluster: Word | None = Field(None, description="Where they run, such as `std.h100_pod`.")

    @model_validator(mode="after")
    def _one_source(self) -> LaunchArguments:
        if bool(self.files) == bool(self.given):
            raise ValueError("give either `files`, names, or `texts`, texts by their names")
        if len(self.given) > MOST_TEXTS or sum(map(len, self.given.values())) > MOST_TEXT:
            raise ValueError(f"`texts` takes {MOST_TEXTS} files and {MOST_TEXT:,} characters")
        if wrong := [name for name in self.given if not _plain(name)]:
            raise ValueError(f"expected a relative name of a file in `texts`, not `{wrong[0]}`")
        return self

    def words(self) -> Iterator[str]:
        yield from map(_name, self.launch_files())
        yield from _repeated("--env", (f"{name}={value}" for name, value in self.env.items()))
        if self.cluster is not None:
            yield f"--cluster={self.cluster}"
        yield from self.more()
        if self.arguments:
            yield from ("--", *self.arguments)

    def launch_files(self) -> Sequence[str]:
        return self.files or tuple(self.given)

    def more(self) -> Iterator[str]:
        """The options that this command alone has."""
        yield "--json"

    def names(self) -> Sequence[str]:
        return self.files

    def texts(self) -> Mapping[str, str]:
        return self.given


class LintArguments(LaunchArguments):
    """Launch files, and what they are held against."""

    files: Words = Field(
        (), description="Names of launch files, or of folders to search, below the folder."
    )
    spec: Word | None = Field(
        None, description="The job file that they should run, by name: says where they drift."
    )
    framework_version: Table = Field(
        {}, description="The releases to judge for, such as `megatron`: `0.19`."
    )
    select: Words = Field((), description="Only these rules, such as `PAR1`.")
    ignore: Words = Field((), description="Not these rules.")

    def launch_files(self) -> Sequence[str]:
        return tuple(name for name in super().launch_files() if name != self.spec)

    def more(self) -> Iterator[str]:
        yield "--format=json"
        if self.spec is not None:
            yield f"--spec={_name(self.spec)}"
        versions = (f"{name}={value}" for name, value in self.framework_version.items())
        yield from _repeated("--framework-version", versions)
        yield from _repeated("--select", self.select)
        yield from _repeated("--ignore", self.ignore)

    def names(self) -> Sequence[str]:
        spec = (self.spec,) if self.spec is not None and not self.given else ()
        return (*self.files, *spec)


def _name(name: str) -> str:
    """A name of a file that no command takes for an option, nor for standard input."""
    return f"./{name}" if name.startswith("-") else name


def _plain(name: str) -> bool:
    """Whether a name leads to a file below the folder that it starts at."""
    parts = name.split("/")
    return len(name) <= 255 and all(part not in ("", ".", "..") for part in parts)


def _repeated(option: str, values: Iterator[str] | Sequence[str]) -> Iterator[str]:
    return (f"{option}={value}" for value in values)


@dataclass(frozen=True)
class Tool:
    """A command as a tool: its word, what it does, and what it takes."""

    name: str
    about: str
    arguments: type[Arguments]

    def command(self, arguments: Arguments) -> list[str]:
        return [self.name, *arguments.words()]

    def input_schema(self) -> dict[str, Any]:
        return self.arguments.model_json_schema()


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "plan",
            "Find the fastest parallel layout of a training job on each of its targets (Megatron-LM, "
            "DeepSpeed, torchtitan, ...), with step time, MFU, tokens per second, memory, cost, and how "
            "sure that is.",
            PlanArguments,
        ),
        Tool(
            "estimate",
            "Price one given layout of a job, and name the rules and conditions that it breaks.",
            EstimateArguments,
        ),
        Tool(
            "explain",
            "Say why a job's plan is what it is: what limits it, what every other value of each degree "
            "costs, and where another layout or other launch files differ, term by term.",
            ExplainArguments,
        ),
        Tool(
            "check",
            "Read a job and list every complaint with its place, and its cure in words and as edits; "
            "nothing is solved.",
            JobArguments,
        ),
        Tool(
            "lint",
            "Say what is wrong with launch files of training (scripts, sbatch, YAML, TOML, JSON, Python), "
            "without running them: errors that stop the run, wasted time and memory, drift from a job.",
            LintArguments,
        ),
        Tool(
            "import",
            "Make the text of a job from launch files or from a Hugging Face config.json, with the list "
            "of what the job leaves out.",
            LaunchArguments,
        ),
    )
}


def outside(arguments: Arguments, folder: str) -> list[str]:
    """The names of files that lead out of a folder, links followed, whether or not they are there."""
    root = os.path.join(os.path.realpath(folder), "")
    return [
        name
        for name in arguments.names()
        if not os.path.join(os.path.realpath(os.path.join(root, name)), "").startswith(root)
    ]

"""An sbatch script as text: its directives, whether SLURM reads them or not, and its lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...reading import sbatch_options
from ...reading.bash.source import file_source
from ...reading.bash.values import plain
from ...reading.facts import whole
from ..finding import Place
from .launched_job import LaunchedJob


@dataclass(frozen=True)
class Directive:
    """One option of a directive line. `value` is None for a switch, and where it is to be filled in."""

    name: str
    value: str | None
    place: Place

    @property
    def number(self) -> int | None:
        return int(self.value) if self.value and re.fullmatch(r"\d{1,9}", self.value) else None


@dataclass(frozen=True)
class Batch:
    """One sbatch script of a job."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return [line.rstrip("\r") for line in self.text.split("\n")]

    @cached_property
    def first_command(self) -> int:
        """Number of the first line that is neither blank nor a comment: directives below it do not count."""
        numbered = enumerate(self.lines, 1)
        return next(
            (n for n, line in numbered if sbatch_options.is_command(line)), len(self.lines) + 1
        )

    @cached_property
    def options(self) -> list[sbatch_options.BatchOption]:
        """Options that SLURM reads, in the order of the lines."""
        return list(sbatch_options.header(file_source(self.path, self.text)))

    @cached_property
    def every(self) -> list[Directive]:
        """Directives that SLURM reads, in the order of the lines."""
        return [directive(each) for each in self.options]

    @cached_property
    def directives(self) -> dict[str, Directive]:
        """Directives that SLURM reads, by long name; the last of two counts."""
        return {each.name: each for each in self.every}

    def value(self, *names: str) -> str | None:
        found = self.get(*names)
        return found.value if found else None

    def output_folders(self, *names: str) -> Iterator[tuple[Directive, str]]:
        """The directives of these names whose file is in a folder, with that folder as it is written."""
        for given in map(self.get, names):
            folder = (given.value or "").rpartition("/")[0] if given else ""
            if given and folder:
                yield given, folder

    def get(self, *names: str) -> Directive | None:
        return next((self.directives[name] for name in names if name in self.directives), None)

    def number(self, *names: str) -> int | None:
        found = self.get(*names)
        return found.number if found else None

    @property
    def nodes(self) -> int | None:
        """Nodes that are asked for; 1 when nothing asks for more, None for a range."""
        given = self.get("nodes")
        if given is None:
            tasks, per_node = self.number("ntasks"), self.number("ntasks-per-node")
            return 1 if tasks is None and per_node is None else None
        return given.number

    @property
    def gpus_per_node(self) -> tuple[int, Directive] | None:
        """GPUs of a node as --gpus-per-node or --gres asks for them."""
        for name in ("gpus-per-node", "gres"):
            found = self.get(name)
            count = gpu_count(found) if found else None
            if found and count is not None:
                return count, found
        return None

    def place(self, number: int, pattern: str | None = None) -> Place:
        """A line, or the first match of a pattern in it or in the lines that continue it."""
        for offset in range(number, min(number + 40, len(self.lines) + 1)):
            match = re.search(pattern, self.lines[offset - 1]) if pattern else None
            if match:
                return Place(self.path, offset, match.start() + 1, max(len(match[0]), 1))
            if not self.lines[offset - 1].endswith("\\"):
                break
        line = self.lines[number - 1]
        indent = len(line) - len(line.lstrip())
        return Place(self.path, number, indent + 1, max(len(line.strip()), 1))


def batches(launch: LaunchedJob) -> Iterator[Batch]:
    """The sbatch scripts among a job's files."""
    for path, text in launch.config.texts.items():
        if "#SBATCH" in text and not path.endswith((".py", ".md", ".json", ".toml")):
            yield _batch(path, text)


@lru_cache(maxsize=8)
def _batch(path: str, text: str) -> Batch:
    """One for all rules, so that a script is taken apart once."""
    return Batch(path, text)


def directive(read: sbatch_options.BatchOption) -> Directive:
    text = None if read.value is None else plain(read.value)
    value, word = text if isinstance(text, str) else None, read.word
    return Directive(read.name, value, Place(word.path, word.line, word.column, len(word.lead)))


def gpu_count(directive: Directive) -> int | None:
    """The number in `8`, `h100:8`, `gpu:8`, `gpu=8` or `gpu:h100:8`; 1 where only a kind is named."""
    if directive.value is None:
        return None
    value = directive.value.split("(")[0].replace("=", ":")
    if directive.name == "gres":
        parts = [part for part in value.split(",") if part.split(":")[0] == "gpu"]
        if not parts:
            return None
        value = parts[0].partition(":")[2] or "1"
    last = value.split(":")[-1]
    if (count := whole(last)) is not None:
        return count
    return 1 if directive.name == "gres" and last.isalnum() else None

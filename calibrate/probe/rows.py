"""The rows that the probe wrote -> `Probe`: what it ran on, and what each case took."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ...dsl.diagnostics import Diagnostic, JobError, Source, Span
from ...dsl.inputs.files import bytes_of, reason_of
from .codes import CONTRADICTORY, NO_ROWS, ROWS_BROKEN, ROWS_MIXED
from .program.machine import FORMAT

Positive = Annotated[int, Field(ge=1, le=2**62)]
Seconds = Annotated[float, Field(gt=0, lt=1e6)]
#: Bytes of a file of rows at most: 100,000 rows of 1,000 ranks have fewer.
MOST_BYTES = 2**31
#: Times of one case in two starts of the probe that are this many times apart contradict each other; batches
#: of one start differ by up to 5 % on an H100.
APART = 1.5


class Line(BaseModel):
    """A line of JSON."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Machine(Line):
    """The machine that one start of the probe ran on; `hosts` by rank, `per_node` ranks on each."""

    kind: Literal["machine"]
    format: int
    device: Literal["cuda", "cpu"]
    name: str
    vendor: Literal["nvidia", "amd"]
    arch: str
    sms: Positive
    memory: Positive
    node_memory: Positive
    cpu_cores: Positive
    ranks: Positive
    per_node: Positive
    torch: str
    cuda: str = ""
    hosts: tuple[str, ...]
    cases: Positive

    @property
    def shape(self) -> tuple[object, ...]:
        """The fields that rows must share to tell of one machine."""
        return (self.format, self.name, self.memory, self.ranks, self.per_node)

    @property
    def nodes(self) -> int:
        return max(1, self.ranks // self.per_node)


class Timed(Line):
    """A case: seconds by rank, None for ranks without a part, and the spread of its batches as a share; or
    why it failed."""

    seconds: tuple[Seconds | None, ...] = ()
    spread: float = 0.0
    failed: str = ""

    @property
    def times(self) -> list[float]:
        return sorted(seconds for seconds in self.seconds if seconds is not None)


class Product(Timed):
    """rows x inner by inner x columns."""

    kind: Literal["product"]
    dtype: Literal["bf16", "fp16", "fp8"]
    rows: Positive
    columns: Positive
    inner: Positive

    @property
    def flops(self) -> float:
        return 2.0 * self.rows * self.columns * self.inner


class Attention(Timed):
    """Fused causal attention, in bf16; `kernel` is `library:name`, named as in the compiler's PACE."""

    kind: Literal["attention"]
    kernel: str
    direction: Literal["forward", "backward", "both"]
    batch: Positive
    heads: Positive
    seq_len: Positive
    head_dim: Positive


class Launch(Timed):
    """One of many small kernels in a row."""

    kind: Literal["launch"]


class Stream(Timed):
    """An elementwise kernel that moves `bytes` in all."""

    kind: Literal["stream"]
    operands: Positive
    bytes: Positive


class Training(Timed):
    """A step of a small decoder (program/training.py): `batch` sequences of `seq_len` tokens."""

    kind: Literal["training"]
    layers: Positive
    hidden: Positive
    heads: Positive
    kv_heads: Positive
    ffn: Positive
    vocab: Positive
    batch: Positive
    seq_len: Positive
    recompute: Literal["none", "selective", "full"]
    compile: bool


class Copy(Timed):
    """`bytes` between a GPU and pinned memory of its host."""

    kind: Literal["copy"]
    to: Literal["gpu", "host"]
    bytes: Positive


class Collective(Timed):
    """A collective in all groups of `size` ranks, `stride` apart, at once."""

    kind: Literal["collective"]
    op: Literal["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send"]
    bytes: Positive
    size: Positive
    stride: Positive


Row = Product | Attention | Launch | Stream | Training | Copy | Collective
_LINE: TypeAdapter[Machine | Row] = TypeAdapter(
    Annotated[Machine | Row, Field(discriminator="kind")]
)


@dataclass(frozen=True)
class Probe:
    """`rows` each with the machine that it ran on: other starts may have had other hosts. `notes` say what of
    the file is left out."""

    machine: Machine
    rows: tuple[tuple[Row, Machine], ...]
    notes: tuple[Diagnostic, ...] = ()

    @property
    def finished(self) -> list[Row]:
        return [row for row, _ in self.rows if row.times]

    @property
    def failed(self) -> list[Row]:
        return [row for row, _ in self.rows if row.failed]


def read_probe(path: Path) -> Probe:
    """A last line without an end was cut and is left out. Raises JobError, naming the line."""
    source = Source(str(path), _text(path))
    machine: Machine | None = None
    rows: list[tuple[Row, Machine]] = []
    timed: dict[str, tuple[float, Span]] = {}
    for line, span in _lines(source):
        read = _read(line, span)
        if isinstance(read, Machine):
            _same(machine, read, span)
            machine = read
        elif machine is None:
            raise _broken(span, "a row stands before the line of its machine")
        else:
            _agree(timed, read, span)
            rows.append((read, machine))
    if machine is None:
        help = "the probe has not begun, or this is another file"
        raise JobError([Diagnostic(NO_ROWS, f"`{path}` holds no rows", help=help)])
    return Probe(machine, tuple(rows), tuple(_cut(source)))


def _cut(source: Source) -> Iterator[Diagnostic]:
    """A note of the last line where it has no end."""
    last = source.text.rpartition("\n")[2]
    if last.strip():
        span = Span(source, len(source.text) - len(last), len(source.text))
        help = "the probe, started again, runs its case once more"
        message = "the last line was cut, and is left out"
        yield Diagnostic(ROWS_BROKEN, message, span, severity="info", help=help)


def _text(path: Path) -> str:
    try:
        return bytes_of(path, MOST_BYTES).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        message = f"cannot read `{path}`: {reason_of(error)}"
        help = "the probe writes it beside its script: submit that first"
        raise JobError([Diagnostic(NO_ROWS, message, help=help)]) from None


def _lines(source: Source) -> Iterator[tuple[str, Span]]:
    start = 0
    for line in source.text.splitlines(keepends=True):
        if line.endswith("\n") and line.strip():
            yield line, Span(source, start, start + len(line.rstrip()))
        start += len(line)


def _read(line: str, span: Span) -> Machine | Row:
    try:
        return _LINE.validate_python(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        raise _broken(span, f"{place}: {first['msg']}".lstrip(": ")) from None
    except (ValueError, RecursionError):
        raise _broken(span, "this line is not JSON") from None


def _agree(timed: dict[str, tuple[float, Span]], row: Row, span: Span) -> None:
    """Notes a row's time by its case. Raises JobError where the case took a very different time before."""
    if not row.times:
        return
    case = row.model_dump_json(exclude={"seconds", "spread", "failed"})
    seconds = median(row.times)
    before, earlier = timed.setdefault(case, (seconds, span))
    if max(before, seconds) > APART * min(before, seconds):
        message = f"a case took {before:.3g} s in line {earlier.line} and {seconds:.3g} s here"
        help = "take the wrong line out, or both: the probe, started again, runs the case once more"
        raise JobError([Diagnostic(CONTRADICTORY, message, span, help=help)])


def _broken(span: Span, why: str) -> JobError:
    help = "take the line out: the probe, started again, runs its case once more"
    return JobError([Diagnostic(ROWS_BROKEN, f"no row of the probe: {why}", span, help=help)])


def _same(before: Machine | None, now: Machine, span: Span) -> None:
    if now.format != FORMAT:
        message = f"rows of format {now.format}, and this parc reads {FORMAT}"
        raise JobError([Diagnostic(ROWS_MIXED, message, span, help="run its own probe again")])
    if len(now.hosts) != now.ranks:
        raise _broken(span, f"{len(now.hosts)} hosts for {now.ranks} ranks")
    if before is not None and before.shape != now.shape:
        message = f"rows of two machines: {_said(before)}, and {_said(now)}"
        raise JobError([Diagnostic(ROWS_MIXED, message, span, help="give each its own file")])


def _said(machine: Machine) -> str:
    return f"{machine.ranks} x {machine.name}, {machine.per_node} on a node"

"""A plan -> its shrunken form, trained through the emitted launcher, and the steps that its log reports."""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

from ..backends import BACKENDS
from ..backends.smoke_run import Interpreter, SmokeRun
from ..compiler.plan import Plan
from ..compiler.variables import NEUTRAL
from ..dsl.job import Job
from .failure import excerpt
from .processes import Ended, Line, free_port, guarded, new_mark, run, terminable
from .shrink import Room, not_exercised, shrunken

#: Variables of a surrounding job that would change what a launcher does; they are not passed on.
FOREIGN = frozenset({
    "NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE",
    "PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT", "SKYPILOT_NUM_NODES",
    "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_NODES",
})  # fmt: skip
#: What a run printed, in a folder that is kept.
LOG = "log.txt"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Request:
    """How to run: `gpus` is whether each process has one, `keep` an empty folder in which the files stay."""

    interpreter: Interpreter
    processes: int
    steps: int
    gpus: bool = False
    limit_seconds: float = 600.0
    keep: Path | None = None


@dataclass(frozen=True)
class Step:
    number: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """`before` is the plan, `after` the shrunken plan that was trained, None where no part of it fits.

    `status` is the launcher's exit status, None when the time was up; `lost` lists what was not exercised;
    `log` holds its first error and last lines. `previous` is that of the stage before, whose last weights it
    begins with.
    """

    before: Plan
    after: Plan | None
    steps: tuple[Step, ...] = ()
    status: int | None = None
    seconds: float = 0.0
    lost: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    previous: "Outcome | None" = None

    @property
    def reached(self) -> float:
        """Mean loss of the second half of the steps; the loss of single steps of so few tokens varies."""
        return mean(step.loss for step in self.steps[len(self.steps) // 2 :])

    @property
    def falls(self) -> bool:
        return len(self.steps) > 1 and self.reached < self.steps[0].loss

    @property
    def follows(self) -> bool:
        """Whether a later stage begins and stays nearer to what the one before reached than to the loss of
        weights that were drawn. Few steps at that loss need not lower it; false of a first stage.
        """
        if self.previous is None or not self.steps:
            return False
        return max(self.steps[0].loss, self.reached) < (self.drawn + self.previous.reached) / 2

    @property
    def drawn(self) -> float:
        """The first loss of the first stage, whose weights were drawn."""
        return self.previous.drawn if self.previous else self.steps[0].loss

    @property
    def wanted(self) -> int:
        return self.after.job.train.total_steps if self.after else 0

    @property
    def good(self) -> bool:
        """Whether it ran to the end and logged every step, and its loss fell, or went on in a later stage."""
        ended = self.status == 0 and len(self.steps) == self.wanted
        return ended and (self.follows if self.previous else self.falls)

    @property
    def step_seconds(self) -> float | None:
        """Median time between the log lines of two steps; what the first step takes is not in it."""
        times = [after.seconds - before.seconds for before, after in _pairs(self.steps)]
        return median(times) if times else None


def _pairs(steps: tuple[Step, ...]) -> Iterable[tuple[Step, Step]]:
    return zip(steps, steps[1:], strict=False)


@dataclass(frozen=True)
class Prepared:
    """A shrunken plan whose files are written, and the command and environment that start it."""

    plan: Plan
    command: tuple[str, ...]
    environment: Mapping[str, str]


def smoke(plan: Plan, request: Request) -> Outcome:
    """Shrinks, emits and trains a plan.

    Raises JobError where the emitter refuses what the solver chose, OSError where files cannot be written.
    """
    (found,) = smoke_stages([plan], request)
    return found


def smoke_stages(plans: Sequence[Plan], request: Request) -> list[Outcome]:
    """As `smoke`, of the plans of a job's stages, one after another: each begins with the last weights of the
    one before. Those after the first that is not good, or leaves no checkpoint, are left out."""
    mark, outcomes, before = new_mark(), list[Outcome](), None
    with terminable(), _folder(request.keep, mark) as folder:
        for plan in plans:
            place = folder if len(plans) == 1 else _place(folder, plan.job.stage)
            before = prepare(plan, request, place, before)
            if before is None:
                return [*outcomes, Outcome(plan, None)]
            ended = run(before.command, before.environment, request.limit_seconds, mark)
            if request.keep is not None:
                text = "".join(f"{line.text}\n" for line in ended.lines)
                (place / LOG).write_text(text, encoding="utf-8")
            if place != folder:
                (place / "scratch").unlink()
            outcome = _outcome(plan, before, ended, request)
            outcome = replace(outcome, previous=outcomes[-1] if outcomes else None)
            left = request.gpus or BACKENDS[plan.target].smoke.leaves(before.plan.layout)
            if not left and plan is not plans[-1]:
                lost = f"the stages after {plan.job.stage}: it wrote no checkpoint"
                outcome = replace(outcome, lost=(*outcome.lost, lost))
            outcomes.append(outcome)
            if not outcome.good or not left:
                break
    return outcomes


def _place(folder: Path, stage: str) -> Path:
    """A stage's own folder; sockets of all have the short scratch folder."""
    scratch, place = folder / "scratch", folder / stage
    scratch.mkdir(exist_ok=True)
    place.mkdir()
    (place / "scratch").symlink_to(scratch)
    return place


def _outcome(plan: Plan, ready: Prepared, ended: Ended, request: Request) -> Outcome:
    seconds = ended.lines[-1].seconds if ended.lines else 0.0
    framework = BACKENDS[plan.target].smoke
    steps = tuple(steps_of(ended.lines, framework.step))
    lost = not_exercised(plan, ready.plan, request.gpus)
    if plan.job.train.carry == "all" and ready.plan.job.previous:
        lost.append("carry = all: the stage before left its weights alone")
    if not request.gpus:
        lost += framework.replaced(plan.job)
    log = tuple(excerpt([COLOUR.sub("", line.text) for line in ended.lines]))
    return Outcome(plan, ready.plan, steps, ended.status, seconds, tuple(lost), log)


def prepare(
    plan: Plan, request: Request, folder: Path, before: Prepared | None = None
) -> Prepared | None:
    """Writes the files of a shrunken plan into an empty folder; None when no part of the layout fits. It
    begins with the weights that `before` leaves."""
    backend = BACKENDS[plan.target]
    framework = backend.smoke
    settings = framework.settings(plan.job, folder / "work", request.gpus)
    room = Room(request.processes, request.steps, request.gpus)
    held, previous = _held(plan, framework, request.gpus), before.plan.job if before else None
    small = shrunken(held, backend.target, room, settings, previous)
    if small is None:
        return None
    for path, text in backend.emit(small).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    environment = _environment(framework, plan.job, request, folder)
    # A stage looks for the one before beside its own run.
    runs = Path(before.environment["RUN_DIR"]).parent if before else folder / "runs"
    environment["RUN_DIR"] = str(runs.resolve() / small.run.folder)
    return Prepared(small, ("bash", str(folder / backend.entry)), environment)


def _held(plan: Plan, framework: SmokeRun, gpus: bool) -> Plan:
    if gpus:
        return plan
    neutral = {name: NEUTRAL[name] for name in framework.held(plan.job)}
    layout = plan.layout.model_copy(update=neutral)
    return plan.model_copy(update={"estimate": plan.estimate.model_copy(update={"layout": layout})})


def _environment(framework: SmokeRun, job: Job, request: Request, folder: Path) -> dict[str, str]:
    """The user's environment with PATH led by `torchrun` and `python` of the chosen interpreter, then by its
    other programs, such as the ninja that builds DeepSpeed's kernels: another version builds them again.
    """
    inherited = {
        key: text for key, text in os.environ.items() if key not in FOREIGN | framework.variables
    }
    for kind in ("commands", "scratch"):
        (folder / kind).mkdir(exist_ok=True)
    for name, module in (("torchrun", "-m torch.distributed.run "), ("python", "")):
        command = folder / "commands" / name
        path = shlex.quote(request.interpreter.path)
        command.write_text(f'#!/bin/sh\nexec {path} {module}"$@"\n')
        command.chmod(0o755)
    given = {
        "PATH": _path(request.interpreter, folder / "commands", inherited.get("PATH", os.defpath)),
        "MASTER_PORT": str(free_port()),
        # Whichever release there is: it is tried.
        "ANY_RELEASE": "1",
        "HEALTH_CHECK": "0",
        "TMPDIR": str((folder / "scratch").resolve()),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if request.gpus:
        return inherited | given
    own = dict(framework.environment(job, folder / "work"))
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    return inherited | given | hidden | on_cpu(framework, inherited.get("PYTHONPATH")) | own


def _path(interpreter: Interpreter, commands: Path, inherited: str) -> str:
    """PATH as if the interpreter's environment were activated, with `commands` in front."""
    program = shutil.which(interpreter.path) or interpreter.path
    folder = str(Path(program).absolute().parent)
    known = folder in inherited.split(os.pathsep)
    return os.pathsep.join([str(commands), *([] if known else [folder]), inherited])


def on_cpu(framework: SmokeRun, python_path: str | None = None) -> dict[str, str]:
    """Variables that put a framework's stand-ins for a GPU in place, in front of a `python_path`."""
    if not framework.stand_ins:
        return {}
    folder = str(Path(__file__).with_name("on_cpu"))
    files = (f"{package}={path}" for package, path in framework.stand_ins.items())
    return {
        "PYTHONPATH": os.pathsep.join([folder, *([python_path] if python_path else [])]),
        "PARC_SMOKE_STAND_INS": os.pathsep.join(files),
        "TORCHDYNAMO_DISABLE": "1",
    }


@contextmanager
def _folder(keep: Path | None, mark: str) -> Iterator[Path]:
    """The folder of a run: `keep`, or a temporary one. Even when this process is killed, processes with the
    mark are ended and the temporary folder is removed.

    Sockets' paths have at most 107 bytes, so the scratch folder of a kept folder links to the temporary one.
    """
    temporary = tempfile.TemporaryDirectory(prefix="parc-smoke-", ignore_cleanup_errors=True)
    with temporary as name, guarded(mark, Path(name)):
        if keep is None:
            yield Path(name)
            return
        kept = keep.resolve()
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "scratch").symlink_to(name)
        try:
            yield kept
        finally:
            (kept / "scratch").unlink(missing_ok=True)


def steps_of(lines: Iterable[Line], pattern: re.Pattern[str]) -> Iterator[Step]:
    """The first report of each step; every rank may print one. `pattern` finds its number and its loss."""
    seen: set[int] = set()
    for line in lines:
        found = pattern.search(COLOUR.sub("", line.text))
        if found and int(found[1]) not in seen:
            seen.add(int(found[1]))
            yield Step(int(found[1]), float(found[2]), line.seconds)

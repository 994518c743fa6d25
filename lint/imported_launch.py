"""The sbatch script of a launched job -> the `launch slurm` block of the job that is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..backends.environment import own_variables
from ..dsl.launchers import Launch
from ..dsl.syntax.quoting import quoted
from ..reading.facts import text_of
from ..reading.sbatch_options import BatchOption
from .facts.batch import Batch, batches, directive
from .facts.launched_job import LaunchedJob
from .finding import Place

#: Directive of sbatch -> setting of a `launch slurm` block.
_TEXTS = {
    "job-name": "job_name",
    "partition": "partition",
    "account": "account",
    "qos": "qos",
    "constraint": "constraint",
    "reservation": "reservation",
}
#: Directives that other settings say, or that parc writes with every job.
_OTHERS = frozenset(
    ["nodes", "gres", "gpus", "gpus-per-node", "gpus-per-task", "ntasks", "ntasks-per-node", "mem"]
    + ["cpus-per-task", "exclusive", "requeue", "no-requeue", "output", "error", "open-mode"]
    + ["signal", "segment", "time"]
)
#: Directives that `extra` carries: when and where the job runs, who is told, and what it is counted as.
#: Others count tasks, cores and memory, which the layout decides and parc asks for in its own way.
_EXTRA = frozenset(
    [
        "acctg-freq",
        "begin",
        "clusters",
        "comment",
        "contiguous",
        "cpu-freq",
        "deadline",
        "dependency",
    ]
    + ["exclude", "export", "gpu-freq", "hold", "kill-on-invalid-dep", "licenses", "mail-type"]
    + ["mail-user", "mcs-label", "nice", "no-kill", "nodelist", "power", "prefer", "priority"]
    + ["profile", "propagate", "reboot", "switches", "time-min", "tmp", "umask", "wckey"]
)
DEFAULT_REQUEUE = Launch().requeue


def launch_block(launch: LaunchedJob) -> Iterator[str]:
    """The block, where a script of sbatch is among the job's files."""
    batch = next(batches(launch), None)
    if batch is not None:
        lines = [f"  {name} = {text}" for name, text in _settings(launch, batch)]
        yield "\n".join(["launch slurm {", *lines, "}"])


def cores(launch: LaunchedJob) -> int | None:
    """Cores of a node that a script asks for which does not ask for the whole node."""
    batch = next(batches(launch), None)
    if batch is None or batch.get("exclusive"):
        return None
    each, tasks = batch.number("cpus-per-task"), batch.number("ntasks-per-node") or 1
    return each * tasks if each else None


def lost(launch: LaunchedJob) -> Iterator[Place]:
    """Places of directives that neither the block says nor another one of the job."""
    for batch in batches(launch):
        yield from (directive(each).place for each in batch.options if not _carried(each))


def _carried(option: BatchOption) -> bool:
    text = directive(option).value
    if option.name in _TEXTS:
        return text is None or sayable(text)
    if option.name == "gres":
        return "," not in (text or "")
    return option.name in _OTHERS or _as_extra(option) is not None


def sayable(value: str) -> bool:
    """Whether a directive of a job's `launch` block may have this value: sbatch knows neither quotes nor
    variables."""
    return '"' not in value and "$" not in value


def _settings(launch: LaunchedJob, batch: Batch) -> Iterator[tuple[str, str]]:
    for name, setting in _TEXTS.items():
        value = batch.value(name)
        if value and sayable(value):
            yield setting, quoted(value)
    yield from _times(launch, batch)
    yield from _failures(launch, batch)
    yield from _gpus(batch)
    if not batch.get("exclusive"):
        yield "exclusive", "false"
    if nodes := batch.number("segment"):
        yield "segment", str(nodes)
    if launch.generated:
        yield from _written_by_parc(launch, batch)
    last = {each.name: each for each in batch.options}
    extra = [text for each in last.values() if (text := _as_extra(each))]
    if extra:
        yield "extra", f"{{ {'; '.join(extra)} }}"


def _times(launch: LaunchedJob, batch: Batch) -> Iterator[tuple[str, str]]:
    from ..backends.slurm.read import seconds_from

    if seconds := seconds_from(batch.value("time") or ""):
        yield "time", f"{seconds} s"
    warned = re.search(r"@(\d{1,5})$", batch.value("signal") or "")
    if warned:
        yield "signal", f"{int(warned[1])} s"
    elif launch.generated:
        yield "signal", "0 s"


def _failures(launch: LaunchedJob, batch: Batch) -> Iterator[tuple[str, str]]:
    """Failures that another start follows; a script of somebody else counts none of them."""
    if batch.get("requeue") is None:
        yield "requeue", "0"
    elif (most := launch.number("max_failures")) not in (None, DEFAULT_REQUEUE):
        yield "requeue", str(most)


def _gpus(batch: Batch) -> Iterator[tuple[str, str]]:
    found = batch.gpus_per_node
    if found is None:
        return
    asked = found[1]
    if asked.name == "gres":
        yield "gpu_request", "gres"
    kind = re.fullmatch(r"(?:gpu[:=])?([A-Za-z][\w.-]*)[:=]\d+", asked.value or "")
    if kind and kind[1] != "gpu":
        yield "gpu_type", quoted(kind[1])


def _written_by_parc(launch: LaunchedJob, batch: Batch) -> Iterator[tuple[str, str]]:
    """Modules, lines and variables of a script that parc wrote, and whether it looks at the nodes first."""
    from ..backends.slurm.read import prepared

    modules, setup = prepared(batch.text)
    for name, lines in (("modules", modules), ("setup", setup)):
        if lines:
            yield name, f"[{', '.join(map(quoted, lines))}]"
    if own := [(each.name, text_of(each)) for each in own_variables(launch.config)]:
        texts = "; ".join(f"{quoted(name)} = {quoted(text)}" for name, text in own if text)
        yield "env", f"{{ {texts} }}"
    if not any("health.py" in text for text in launch.config.texts.values()):
        yield "health_check", "false"


def _as_extra(option: BatchOption) -> str | None:
    """`mail_user = "a"` for a directive that no setting stands for; None where `extra` may not carry it."""
    if option.name not in _EXTRA:
        return None
    key, value = option.name.replace("-", "_"), directive(option).value
    if option.value is None:
        return f"{key} = true"
    return f"{key} = {quoted(value)}" if value and sayable(value) else None

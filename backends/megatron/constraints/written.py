"""The options that a script will have, and `extra` among them -> the rows that its keys break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ....compiler.target import Effect
from ....dsl.diagnostics import Diagnostic, Note
from ....dsl.job import Job
from ....reading.facts import Setting
from ...constraints import Broken, broken
from ...released_options import releases
from ..emit.flags import Flag
from ..releases import from_release
from .arguments import CONSTRAINTS

_FILE = "megatron/pretrain.sh"


@dataclass(frozen=True)
class FlagsToWrite:
    """Flags as a job's options: nothing of the command is unknown."""

    flags: Mapping[str, Flag]

    def option(self, *names: str) -> Setting | None:
        flag = next((self.flags[name] for name in names if name in self.flags), None)
        return None if flag is None else Setting("argument", flag.name, flag.values, _FILE, 1)

    def may_be_given(self, name: str) -> bool:
        return False


def problems(job: Job, flags: Iterable[Flag], keys: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Broken rules that stop Megatron-LM in the job's release, at the key of `extra` that takes part. `keys`:
    an option that `extra` writes -> its key."""
    options = FlagsToWrite({flag.name: flag for flag in flags})
    for code, rows in CONSTRAINTS.items():
        lasting = [row for row in rows if row.effect is Effect.STOPS and _holds(job, row.since)]
        for fault in broken(lasting, options):
            names = [setting.name for setting in (fault.at, *fault.others)]
            key = next((keys[name] for name in names if name in keys), None)
            if key is not None:
                yield _diagnostic(job, code, fault, key)


def _holds(job: Job, since: str) -> bool:
    """Whether the job's release, which is one of those that parc writes for, has a row."""
    return since not in releases("megatron") or from_release(job, since)


def _diagnostic(job: Job, code: str, fault: Broken, key: str) -> Diagnostic:
    return Diagnostic(
        code,
        f"with this `extra` Megatron-LM would not start: {fault.message}",
        job.span("target", "megatron", "extra", key),
        notes=(Note(f"Megatron-LM, {fault.row.source}"),),
        help=fault.help,
    )

"""The options that a script will have, and `extra` among them -> the rows that its keys break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ....dsl.diagnostics import Diagnostic
from ....dsl.job import Job
from ....reading.facts import Setting
from ...written_options import WrittenOptions
from ..emit.flags import Flag
from ..options import options_of
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
    written = WrittenOptions(job, "megatron", "Megatron-LM", options_of(job).version)
    options = FlagsToWrite({flag.name: flag for flag in flags})
    yield from written.problems(CONSTRAINTS, options, keys)

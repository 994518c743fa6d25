"""Facts as the compiler's predicates ask for them: `job.model.heads`, columns `tp`, `gpus`.

A predicate may look at any part of a job, and a launch file says little of it: what it does not say raises
`Missing`, so that a predicate is judged only where every value that it needs is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...backends import BACKENDS
from ...backends.reader import Missing
from ...reading.facts import Fact, LaunchConfig, Setting, number_of
from ..finding import At
from .launched_job import LaunchedJob


@dataclass(frozen=True)
class Used:
    """A value that a predicate looked at, with the word for it and where it stands."""

    name: str
    value: object
    at: At


class Known:
    """A job's values, read from a launch file; `used` collects those that were looked at."""

    def __init__(self, launch: LaunchedJob) -> None:
        self.launch = launch
        backend = BACKENDS.get(launch.framework or "")
        self.answers = backend.reader.answers if backend else {}
        self.used: dict[str, Used] = {}
        self.model = _Part(self, MODEL)
        self.train = _Part(self, TRAIN)
        self.cluster = _Part(self, CLUSTER)

    @property
    def config(self) -> LaunchConfig:
        return self.launch.config

    def answer(self, name: str, values: Mapping[str, Callable[[Known], Any]]) -> Any:
        """A value as the framework answers for it, else as the facts say it."""
        answer = self.answers.get(name) or values.get(name)
        if answer is None:
            raise Missing(name)
        return answer(self)

    def fact(self, name: str) -> Any:
        """The value of a fact, which counts as looked at."""
        fact = self.launch.facts.get(name)
        value = self.launch.value(name)
        if fact is None or value is None:
            raise Missing(name, self.launch.unknown(name))
        self.used.setdefault(name, Used(name, value, fact))
        return value

    def number(self, name: str) -> int:
        value = self.fact(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Missing(name)
        return value

    def option(self, *names: str) -> int | None:
        """The number behind an option of the training program, None when it is not given."""
        setting = self.launch.option(*names)
        if setting is None:
            return None
        number = number_of(setting)
        if number is None:
            raise Missing(setting.name)
        self.saw(setting.name.lstrip("-"), number, setting)
        return number

    def options(self, target: str) -> object:
        """The `target` block that would write such files, in the release that reads them."""
        backend = BACKENDS[target]
        return backend.target.options(**backend.reader.options(self.config))

    def saw(self, name: str, value: object, at: Fact | Setting) -> None:
        self.used.setdefault(name, Used(name, value, at))

    def column(self, name: str) -> int:
        """A layout variable by the compiler's name."""
        value: int = self.answer(name, COLUMNS)
        if value < 0:
            raise Missing(name)
        return value


class _Part:
    """One block of a job, such as `job.model`."""

    def __init__(self, known: Known, values: Mapping[str, Callable[[Known], Any]]) -> None:
        self._known, self._values = known, values

    def __getattr__(self, name: str) -> Any:
        return self._known.answer(name, self._values)


def _facts(*names: str) -> dict[str, Callable[[Known], Any]]:
    """Values that are facts as they stand."""
    return {name: partial(Known.number, name=name) for name in names}


def _experts(known: Known) -> int:
    if "experts" not in known.launch.facts:
        if known.launch.number("layers") is None:
            raise Missing("layers")
        return 0
    return known.number("experts")


MODEL: dict[str, Callable[[Known], Any]] = {
    **_facts("layers", "hidden", "heads", "kv_heads", "ffn"),
    "groups": lambda known: known.number("kv_heads"),
    "experts": _experts,
    "moe": lambda known: _experts(known) > 0,
    "mla": lambda known: False,
    "dense_layers": lambda known: 0,
    "expert_width": lambda known: known.number("ffn"),
    "v_head_dim": lambda known: 0,
    "head_size": lambda known: known.number("hidden") // max(known.number("heads"), 1),
}


def _ramp(known: Known) -> tuple[None, ...]:
    """One stage: a batch that grows is read of Megatron-LM alone, which answers for itself."""
    for each in known.config.settings:
        if "rampup_batch_size" in each.name and each.values not in ((), ("null",), (None,)):
            raise Missing("ramp")
    return (None,)


TRAIN: dict[str, Callable[[Known], Any]] = {
    "ramp": _ramp,
    **_facts("seq_len", "global_batch"),
    "precision": lambda known: str(known.fact("precision")),
}
CLUSTER: dict[str, Callable[[Known], Any]] = _facts("gpus_per_node")


def _microbatches(known: Known) -> int:
    """Micro-batches of a step on one replica; what does not divide is another rule's business."""
    batch, micro, dp = (known.number(name) for name in ("global_batch", "micro_batch", "dp"))
    if micro * dp < 1 or batch % (micro * dp):
        raise Missing("microbatches")
    return batch // (micro * dp)


def _sharded(known: Known) -> int:
    """The ranks of one replica: the whole data-parallel group where the framework has no other."""
    if "dp_shard" in known.launch.facts:
        return known.number("dp_shard")
    return known.number("dp") // max(_replicated(known), 1)


def _replicated(known: Known) -> int:
    return known.launch.number("dp_replicate") or 1


def _context(known: Known) -> int:
    """Ulysses is DeepSpeed's context parallelism."""
    if (known.launch.number("ulysses") or 1) > 1 or "cp" not in known.launch.facts:
        return known.number("ulysses")
    return known.number("cp")


def _expert_tensor(known: Known) -> int:
    return known.number("etp" if "etp" in known.launch.facts else "tp")


COLUMNS: dict[str, Callable[[Known], int]] = {
    **_facts("tp", "pp", "vpp", "ep", "dp", "gpus", "micro_batch", "zero", "hpz"),
    "cp": _context,
    "etp": _expert_tensor,
    "microbatches": _microbatches,
    "dp_shard": _sharded,
    "dp_replicate": _replicated,
    "recompute_layers": lambda known: 0,
}

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
from ...reading.facts import Fact, Setting
from ..finding import At
from .launched_job import LaunchedJob, number_of, text_of

#: torchtitan's release by the kind of its configuration.
RELEASES = {"torchtitan-toml": "0.2.2", "torchtitan-python": "0.3"}


class Missing(Exception):
    """A value that the files do not say, or do not decide; `unknown` names the undecided fact."""

    def __init__(self, name: str, unknown: bool = False) -> None:
        super().__init__(name)
        self.name = name
        self.unknown = unknown


@dataclass(frozen=True)
class Used:
    """A value that a predicate looked at, with the word for it and where it stands."""

    name: str
    value: object
    at: At


class Known:
    """What a job would say, read from a launch file; `used` collects what was looked at."""

    def __init__(self, launch: LaunchedJob) -> None:
        self.launch = launch
        self.used: dict[str, Used] = {}
        self.model = _Part(self, MODEL)
        self.train = _Part(self, TRAIN)
        self.cluster = _Part(self, CLUSTER)

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
        """The `target` block that would write such files, for torchtitan in the release that reads them."""
        options = BACKENDS[target].target.options
        release = RELEASES.get(self.launch.kind)
        return options() if release is None else options(version=release)

    def saw(self, name: str, value: object, at: Fact | Setting) -> None:
        self.used.setdefault(name, Used(name, value, at))

    def column(self, name: str) -> int:
        """A layout variable by the compiler's name."""
        if name not in COLUMNS:
            raise Missing(name)
        value = COLUMNS[name](self)
        if value < 0:
            raise Missing(name)
        return value


class _Part:
    """One block of a job, such as `job.model`."""

    def __init__(self, known: Known, values: Mapping[str, Callable[[Known], Any]]) -> None:
        self._known, self._values = known, values

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            raise Missing(name)
        return self._values[name](self._known)


def _facts(*names: str) -> dict[str, Callable[[Known], Any]]:
    """Values that are facts as they stand."""
    return {name: partial(Known.number, name=name) for name in names}


def _experts(known: Known) -> int:
    if "experts" not in known.launch.facts:
        known.number("layers")
        return 0
    return known.number("experts")


def _ffn(known: Known) -> int:
    """--ffn-hidden-size, or Megatron-LM's default (arguments.py: 4 hidden, or 8/3 with SwiGLU)."""
    if known.launch.framework != "megatron":
        return known.number("ffn")
    given = known.option("--ffn-hidden-size")
    if given is not None:
        return given
    hidden = known.number("hidden")
    return int((4 * hidden * 2 / 3) / 64) * 64 if known.launch.given("--swiglu") else 4 * hidden


def _dense_layers(known: Known) -> int:
    if known.launch.given("--moe-layer-freq"):
        raise Missing("dense_layers")
    return 0


def _shared_experts(known: Known) -> int:
    if known.launch.framework != "megatron" or known.launch.given(
        "--moe-shared-expert-intermediate-size"
    ):
        raise Missing("shared_experts")
    return 0


def _head_size(known: Known) -> int:
    given = known.option("--kv-channels")
    return given or known.number("hidden") // max(known.number("heads"), 1)


def _mla(known: Known) -> bool:
    return known.launch.given("--multi-latent-attention")


def _megatron_only(known: Known, name: str) -> None:
    if known.launch.framework != "megatron":
        raise Missing(name)


def _bias(known: Known) -> bool:
    _megatron_only(known, "bias")
    return not known.launch.given("--disable-bias-linear")


def _window(known: Known) -> int | None:
    _megatron_only(known, "window")
    return 1 if known.launch.given("--window-size") else None


def _attention(known: Known) -> str:
    """Only what was asked for by name; `auto` may choose any."""
    _megatron_only(known, "attention")
    chosen = text_of(known.launch.option("--attention-backend"))
    return "unfused" if chosen == "unfused" else "flash"


MODEL: dict[str, Callable[[Known], Any]] = {
    **_facts("layers", "hidden", "heads", "kv_heads"),
    "groups": lambda known: known.number("kv_heads"),
    "experts": _experts,
    "moe": lambda known: _experts(known) > 0,
    "mla": _mla,
    "ffn": _ffn,
    "dense_layers": _dense_layers,
    "shared_experts": _shared_experts,
    "expert_width": lambda known: known.option("--moe-ffn-hidden-size") or _ffn(known),
    "bias": _bias,
    "window": _window,
    "v_head_dim": lambda known: 0,
    "head_size": _head_size,
}
TRAIN: dict[str, Callable[[Known], Any]] = {
    **_facts("seq_len", "global_batch"),
    "precision": lambda known: str(known.fact("precision")),
    "attention": _attention,
}
CLUSTER: dict[str, Callable[[Known], Any]] = _facts("gpus_per_node")


def _microbatches(known: Known) -> int:
    """Micro-batches of a step on one replica; what does not divide is another rule's business."""
    batch, micro, dp = (known.number(name) for name in ("global_batch", "micro_batch", "dp"))
    if micro * dp < 1 or batch % (micro * dp):
        raise Missing("microbatches")
    return batch // (micro * dp)


def _sharded(known: Known) -> int:
    """torchtitan's dp_shard, DeepSpeed's and Megatron-LM's whole data-parallel group."""
    if "dp_shard" in known.launch.facts:
        return known.number("dp_shard")
    if known.launch.framework == "torchtitan":
        return known.number("dp") // max(_replicated(known), 1)
    return known.number("dp")


def _replicated(known: Known) -> int:
    key = "parallelism.data_parallel_replicate_degree"
    setting = known.launch.setting("toml", key)
    return 1 if setting is None else number_of(setting) or 1


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
}

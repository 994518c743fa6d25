"""A torchtitan job's files -> facts, with torchtitan's defaults for what is left out."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ....reading.facts import Unknown, Value
from ..option_rows import ROWS
from .sources import Launch, Place, Registered, Settings
from .spelling import FLAVORS, FLOAT8, ORDERS

Found = tuple[str, Value | Unknown, Place]
Number = int | Unknown

#: Last part of a converter's name -> precision; 0.2.2 writes `quantize.linear.float8`.
CONVERTERS = {"linear.float8": "fp8", "linear.mx": "mxfp8", "float8": "fp8", "mx": "mxfp8"}
SIZES = {"layers": "n_layers", "hidden": "dim", "heads": "n_heads"}


@dataclass(frozen=True)
class Reader:
    settings: Settings
    models: Mapping[str, Registered]
    launch: Launch | None

    def facts(self) -> Iterator[Found]:
        for row in ROWS.facts:
            yield row.fact, self.settings.number(row.name), self.settings.place(row.name)
        yield from self._mesh()
        yield from self._batch()
        yield "vpp", self._virtual(), self.settings.place("parallelism.pipeline_parallel_schedule")
        yield "order", *self._order()
        place = self.settings.place("parallelism.fsdp_reshard_after_forward")
        yield "zero", self._zero(), place
        yield from self._model()
        yield "precision", self._precision(), self.settings.place("model.converters")
        mode = self.settings.text("activation_checkpoint.mode")
        yield "recompute", mode, self.settings.place("activation_checkpoint.mode")

    @cached_property
    def shard(self) -> Number:
        """dp_shard; -1 takes the ranks that the other degrees leave (parallel_dims.py:47)."""
        given = self.settings.number("parallelism.data_parallel_shard_degree")
        if given != -1:
            return given
        if self.launch is None or isinstance(self.launch.world, Unknown):
            return Unknown(
                "data_parallel_shard_degree = -1 takes the ranks that are left, and their number is not known"
            )
        return _derived(
            lambda world, *degrees: world // math.prod(degrees), self.launch.world, *self._others()
        )

    def _others(self) -> list[Number]:
        keys = (
            "data_parallel_replicate",
            "tensor_parallel",
            "pipeline_parallel",
            "context_parallel",
        )
        return [self.settings.number(f"parallelism.{key}_degree") for key in keys]

    @property
    def dp(self) -> Number:
        replicas = self.settings.number("parallelism.data_parallel_replicate_degree")
        return _derived(lambda shard, copies: shard * copies, self.shard, replicas)

    def _mesh(self) -> Iterator[Found]:
        """The degrees give the world size (parallel_dims.py:54), and the script its share on one node."""
        place = self.settings.place("parallelism.data_parallel_shard_degree")
        yield "dp", self.dp, place
        world = _derived(lambda *degrees: math.prod(degrees), self.shard, *self._others())
        yield "gpus", world, place
        if self.launch is not None:
            per_node = self.launch.per_node
            yield "gpus_per_node", per_node, self.launch.place
            yield "nodes", _derived(
                lambda ranks, node: -(-ranks // node), world, per_node
            ), self.launch.place

    def _batch(self) -> Iterator[Found]:
        local_key, total_key = "training.local_batch_size", "training.global_batch_size"
        small_key = "parallelism.pipeline_parallel_microbatch_size"
        batch_key = small_key if self._pipelined() else local_key
        yield "micro_batch", self.settings.number(batch_key), self.settings.place(batch_key)
        total = self.settings.number(total_key)
        if total == -1:
            total = _derived(lambda local, dp: local * dp, self.settings.number(local_key), self.dp)
        yield "global_batch", total, self.settings.place(total_key)

    def _pipelined(self) -> bool:
        return self.settings.number("parallelism.pipeline_parallel_degree") != 1

    def _order(self) -> tuple[Value | Unknown, Place]:
        """The order of a pipeline's passes in the compiler's words, where it has them."""
        key = "parallelism.pipeline_parallel_schedule"
        name, place = self.settings.text(key), self.settings.place(key)
        if not self._pipelined():
            return "1f1b", place
        if isinstance(name, Unknown):
            return name, place
        known = ORDERS.get(name.lower())
        return known or Unknown(f"the price of schedule {name} is not known"), place

    def _virtual(self) -> Number:
        """Stages per rank, as distributed/pipeline_parallel.py:67 counts them."""
        pp = self.settings.number("parallelism.pipeline_parallel_degree")
        if isinstance(pp, Unknown) or pp == 1:
            return pp
        if self.settings.text("parallelism.pipeline_parallel_schedule") in ("1F1B", "GPipe"):
            return 1
        parts = self.settings.value("parallelism.module_fqns_per_model_part")
        if isinstance(parts, list):
            return len(parts) // pp
        return self._counted(pp)

    def _counted(self, pp: int) -> Number:
        key = "parallelism.pipeline_parallel_layers_per_stage"
        if self.settings.value(key) is None:
            return 2
        less = [
            self.settings.number(f"parallelism.pipeline_parallel_{end}_stage_less_layers")
            for end in ("first", "last")
        ]
        layers = self._size("n_layers")
        return _derived(
            lambda per_stage, count, first, last: -(-(count + first + last) // per_stage) // pp,
            self.settings.number(key),
            layers,
            *less,
        )

    def _zero(self) -> Number:
        """0 without FSDP, 1 in a pipeline (gradients stay whole), else 3 if it frees weights, or 2."""
        shards = _derived(
            lambda shard, cp: shard * cp,
            self.shard,
            self.settings.number("parallelism.context_parallel_degree"),
        )
        if isinstance(shards, Unknown) or shards == 1:
            return shards if isinstance(shards, Unknown) else 0
        policy = self.settings.text("parallelism.fsdp_reshard_after_forward")
        if policy == "always":
            return 3
        return 1 if self._pipelined() else {"never": 2, "default": 3}.get(str(policy), 3)

    @property
    def model(self) -> Registered | Unknown:
        flavor = self.settings.text("model.flavor")
        missing = Unknown(f"flavor `{flavor}` is defined in torchtitan, not in these files")
        return self.models.get(str(flavor), _published(self.settings, missing))

    def _size(self, argument: str) -> Number:
        return self.model if isinstance(self.model, Unknown) else self.model.number(argument)

    def _model(self) -> Iterator[Found]:
        flavor = self.settings.place("model.flavor")
        model = self.model
        place = flavor if isinstance(model, Unknown) else model.place
        for name, argument in SIZES.items():
            yield name, self._size(argument), place
        yield "kv_heads", model if isinstance(model, Unknown) else model.kv_heads, place
        yield "experts", model if isinstance(model, Unknown) else model.experts, place

    def _precision(self) -> str | Unknown:
        converters = self.settings.value("model.converters")
        names = [str(name) for name in converters] if isinstance(converters, list) else []
        for kind, precision in CONVERTERS.items():
            if any(name == kind or name.endswith(f".{kind}") for name in names):
                return precision
        if any(self.settings.value(key) for key in FLOAT8):
            return "fp8"
        dtype = self.settings.text("training.mixed_precision_param")
        return {"bfloat16": "bf16", "float32": "fp32"}.get(
            str(dtype), Unknown(f"`{dtype}` is not a type of torchtitan")
        )


def _published(settings: Settings, missing: Unknown) -> Registered | Unknown:
    """A flavor that torchtitan ships, with the sizes that the standard library has for it."""
    name = FLAVORS.get((str(settings.value("model.name")), str(settings.value("model.flavor"))))
    if name is None or not settings.given("model.name"):
        return missing
    from ....dsl.standard import std_model  # the parser is loaded only where it is needed

    model = std_model(name)
    arguments: dict[str, Any] = {
        "n_layers": model.layers,
        "dim": model.hidden,
        "n_heads": model.heads,
        "n_kv_heads": model.heads if model.mla else model.groups,
        "moe_enabled": model.moe,
        "moe_args": {"num_experts": model.experts},
    }
    return Registered(arguments, settings.place("model.flavor"))


def _derived(formula: Callable[..., int], *numbers: Number) -> Number:
    """A number computed from others; an unknown one makes it unknown, and so does a division by zero."""
    known: list[int] = []
    for number in numbers:
        if isinstance(number, Unknown):
            return number
        known.append(number)
    try:
        return formula(*known)
    except ZeroDivisionError:
        return Unknown("a degree is 0")

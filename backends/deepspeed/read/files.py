"""A DeepSpeed config, and the model.json and train.py that parc writes beside it -> the facts they state."""

import ast
import math
from collections.abc import Iterator, Mapping

from ....compiler.plan import OFFLOAD
from ....dsl.inputs.documents import python_module
from ....reading.facts import Fact, Unknown
from . import settings
from .document import Table

_MODEL = ("layers", "hidden", "heads", "kv_heads", "seq_len")


def offload(path: str, values: Table) -> Fact:
    """Where optimizer states and weights go: the plan's word for it."""
    weights = ("zero_optimization", "offload_param", "device")
    optimizer = ("zero_optimization", "offload_optimizer", "device")
    level, place = 0, (path, 1, 1)
    for step, keys in ((1, optimizer), (2, weights)):
        member = values.find(*keys)
        if member is not None and member.value not in ("none", None):
            level, place = step, member.place
        elif member is not None and not level:
            place = member.place
    return Fact("offload", OFFLOAD[level], *place)


def model_facts(path: str, values: Table) -> Iterator[Fact]:
    """The sizes and stages in parc's model.json."""
    for name in _MODEL:
        if (member := values.find(name)) is not None:
            yield Fact(name, settings.number(member.value), *member.place)
    stages = values.find("stage_layers")
    count = len(stages.value) if stages is not None and isinstance(stages.value, list) else 1
    yield Fact("pp", count, *(stages.place if stages is not None else (path, 1, 1)))
    for name in ("vpp", "cp", "ep"):
        yield Fact(name, 1, path, 1)


def script_facts(path: str, text: str) -> Iterator[Fact]:
    """The recomputation in train.py: which function it hands to `checkpoint`."""
    recompute, line = "none", 1
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "checkpoint":
            target = ast.unparse(node.args[0]) if node.args else ""
            recompute, line = _RECOMPUTED.get(target, "unknown"), node.lineno
        if getattr(getattr(node, "func", None), "attr", None) == "gradient_checkpointing_enable":
            recompute, line = "full", getattr(node, "lineno", 1)
    value = Unknown("an unknown function is recomputed") if recompute == "unknown" else recompute
    yield Fact("recompute", value, path, line)


_RECOMPUTED = {
    "self.both_halves": "full",
    "self.feed_forward_half": "selective",
    "self.feed_forward": "selective",
}


def _parsed(text: str) -> ast.Module:
    try:
        return python_module(text)
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from None


def together(found: list[Fact]) -> Iterator[Fact]:
    """Data-parallel degree, world and nodes, where their parts are known and divide."""
    numbers = {fact.name: fact.value for fact in found if isinstance(fact.value, int)}
    sizes = next((fact for fact in found if fact.name == "layers"), None)
    if sizes is not None and "tp" not in numbers:
        yield Fact("tp", 1, sizes.path, 1)
    batch = next((fact for fact in found if fact.name == "global_batch"), None)
    dp = _quotient(numbers, "global_batch", ("micro_batch", "microbatches"))
    if batch is None or dp is None:
        return
    yield Fact("dp", dp, batch.path, batch.line, batch.column)
    if "pp" not in numbers:
        return
    gpus = dp * math.prod(numbers.get(name, 1) for name in ("pp", "ulysses", "tp"))
    yield Fact("gpus", gpus, batch.path, batch.line, batch.column)
    nodes = _quotient({**numbers, "gpus": gpus}, "gpus", ("gpus_per_node",))
    if nodes is not None:
        yield Fact("nodes", nodes, batch.path, batch.line, batch.column)


def _quotient(numbers: Mapping[str, int], whole: str, parts: tuple[str, ...]) -> int | None:
    if any(numbers.get(name, 0) < 1 for name in (whole, *parts)):
        return None
    value, rest = divmod(numbers[whole], math.prod(numbers[name] for name in parts))
    return None if rest else value

"""The attributes of a recipe -> its facts: Megatron-core's names, and those that NeMo and Bridge have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...reading.facts import Fact, Unknown, Value
from ...reading.python.values import Placed, Tree
from ...reading.yaml_settings import Scalar
from ..megatron.read import yaml_config
from .attributes import Attribute, scalars

#: Names of the mixed precisions that both have: `bf16_mixed`, `bf16_with_mxfp8_mixed`.
_MIXED = re.compile(r"(?:^|_)(bf16|fp16)(?:_with_(fp8|mxfp8|nvfp4)\w{0,60}?)?_mixed$")
#: Where a recipe has its mixed precision: the trainer's plugins in NeMo, and a part of its own in Bridge.
_PRECISIONS = ("plugins", "mixed_precision")
_BASES = {"bf16-mixed": "bf16", "bf16": "bf16", "16-mixed": "fp16", "16": "fp16", "32": "fp32"}
#: Facts of YAML's keys that Python says in another way.
_OWN = ("precision", "zero", "sharding", "distributed_optimizer")
_VIRTUAL = "virtual_pipeline_model_parallel_size"
_SHAPE = {"nodes": "trainer.num_nodes", "gpus_per_node": "trainer.devices"}


def facts(path: str, tree: Tree, found: Sequence[Attribute]) -> Iterator[Fact]:
    said = list(scalars(path, found))
    every = {fact.name: fact for fact in yaml_config.facts(path, said) if fact.name not in _OWN}
    for name, scalar in _unknown_shape(said):
        reason = scalar.unknown or Unknown(f"`{scalar.text}` is decided where it runs")
        every.setdefault(name, Fact(name, reason, path, scalar.line, scalar.column))
    off = [each for each in said if _leaf(each) == _VIRTUAL]
    others = [each for each in said if "layout" in _leaf(each) and each.value is not None]
    if off and not others and all(each.value is None for each in off):
        every["vpp"] = Fact("vpp", 1, path, off[0].line, off[0].column)
    yield from every.values()
    yield from _precision(path, tree)


def _unknown_shape(said: Sequence[Scalar]) -> Iterator[tuple[str, Scalar]]:
    for name, ending in _SHAPE.items():
        yield from ((name, each) for each in said if f".{each.name}".endswith(f".{ending}"))


def _leaf(scalar: Scalar) -> str:
    return scalar.name.rpartition(".")[2]


def _precision(path: str, tree: Tree) -> Iterator[Fact]:
    """The precision of a recipe by its settings of mixed precision; unknown where they differ."""
    places = [
        (below.values[name])
        for below in tree.below()
        for name in _PRECISIONS
        if name in below.values
    ]
    answers = [(each, _of(each)) for each in places]
    told = [(each, answer) for each, answer in answers if answer is not None]
    if not told:
        return
    placed, answer = told[0]
    if any(other != answer for _, other in told):
        answer = Unknown("it is written twice, with different values")
    yield Fact("precision", answer, path, placed.line, placed.column)


def _of(placed: Placed) -> Value | Unknown | None:
    match placed.value:
        case str() as name:
            return _by_name(name)
        case Unknown() as unknown:
            return unknown
        case list() as items:
            alone = (each for each in items if not isinstance(each.value, list))
            return next((answer for each in alone if (answer := _of(each)) is not None), None)
        case Tree() as tree:
            return _of_tree(tree)
    return None


def _of_tree(tree: Tree) -> Value | Unknown | None:
    """`bf16_mixed()`, or `MegatronMixedPrecision(precision="bf16-mixed")` with what is given of FP8."""
    changed = [name for name in ("fp8", "fp8_recipe", "fp4") if name in tree.assigned]
    if changed and tree.rest is not None:
        return Unknown(f"`{changed[0]}` of `{tree.head}()` is set by itself")
    if tree.rest is not None:
        return _by_name(tree.head)
    if "MixedPrecision" not in tree.head:
        return None
    given = tree.values.get("precision") or tree.values.get("0")
    base = given.value if given else None
    if isinstance(base, Unknown):
        return base
    name, eight = _BASES.get(str(base)), tree.values.get("fp8")
    if name is None:
        return Unknown(f"`{tree.head}` is given no precision")
    if eight is None or eight.value is None:
        return name
    recipe = tree.values.get("fp8_recipe")
    kind = "mxfp8" if recipe is not None and recipe.value == "mxfp8" else "fp8"
    return f"{name}+{kind}" if isinstance(eight.value, str) else Unknown("fp8 is not decided")


def _by_name(name: str) -> Value | Unknown:
    found = _MIXED.search(name)
    if found is None:
        return Unknown(f"`{name}` is not a known precision")
    return found[1] if found[2] is None else f"{found[1]}+{found[2]}"

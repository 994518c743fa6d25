"""A module of recipes -> a job for the program that it is, or for each function that returns a recipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...dsl.inputs.budget import Visits
from ...reading.facts import Fact, Kind, LaunchConfig, Setting, Unknown, Unread
from ...reading.python.module import Made, made_by
from ...reading.python.values import Tree
from .attributes import Attribute, attributes, scalars
from .facts import facts

NEMO, BRIDGE = Kind("nemo", carrier="python"), Kind("megatron-bridge", carrier="python")
_IMPORT = re.compile(r"^[^\S\n]*(?:from|import)\s+(nemo|nemo_run|megatron\.bridge)\b", re.MULTILINE)
_BRIDGE = re.compile(r"^[^\S\n]*(?:from|import)\s+megatron\.bridge\b", re.MULTILINE)
_TELLING = re.compile(
    r"\b(?:tensor|pipeline|context|expert)_model_parallel_size\s*=|\bMegatronStrategy\b"
    r"|\.(?:pretrain|finetune)_recipe\("
)
#: Tests of recipes hold what they should be, and start nothing.
_TESTS = re.compile(r"^[^\S\n]*(?:import|from)\s+(?:pytest|unittest)\b", re.MULTILINE)
#: Recipes of a module that are judged: each takes a look at the whole text.
MOST_RECIPES = 32
#: Attributes of all objects that a module makes, those of an object once for each that holds it.
MOST_VISITS = 60_000
#: Functions that make a recipe, and what they call the trainer's shape.
_RECIPE = re.compile(r"(?:^|_)recipe$")
_DEGREES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_BATCHES = ("global_batch_size", "micro_batch_size")


def is_recipe(text: str) -> bool:
    return (
        _IMPORT.search(text) is not None
        and _TELLING.search(text) is not None
        and _TESTS.search(text) is None
    )


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """The jobs of such a module; nothing for any other one."""
    if not is_recipe(text):
        return
    kind = BRIDGE if _BRIDGE.search(text) else NEMO
    try:
        recipes = list(_recipes(list(made_by(text)), Visits(MOST_VISITS)))
    except (SyntaxError, ValueError) as error:
        unread = (Unread.because(error, path, what="it is not Python that parc follows: "),)
        yield LaunchConfig(kind, (), unread, texts={path: text})
        return
    seen: set[tuple[Fact, ...]] = set()
    for recipe in recipes:
        if len(seen) == MOST_RECIPES:
            reason = f"only its first {MOST_RECIPES} recipes are read"
            unread = (Unread(reason, path, 1, over_limit=True, rest=True),)
            yield LaunchConfig(kind, (), unread, texts={path: text})
            return
        found = tuple(facts(path, recipe.tree, recipe.attributes))
        if found not in seen and any(not isinstance(each.value, Unknown) for each in found):
            seen.add(found)
            told = tuple(_settings(path, recipe.attributes))
            yield LaunchConfig(kind, found, (), told, None, {path: text}, recipe.name)


@dataclass(frozen=True)
class Recipe:
    """One recipe, by the function that makes it."""

    name: str
    tree: Tree
    attributes: tuple[Attribute, ...]

    @property
    def complete(self) -> bool:
        return self.says(_DEGREES) and self.says(_BATCHES)

    def says(self, names: Iterable[str]) -> bool:
        return any(each.last in names for each in self.attributes)


def _recipes(made: list[Made], visits: Visits) -> Iterator[Recipe]:
    """Recipes of the program; where it makes none, those that functions return for their defaults.

    A function that another one calls is a recipe of its own where what it returns has degrees and a batch.
    """
    program = list(_whole(made[0], visits))
    if program:
        yield from program
        return
    by_name = {each.name: list(_whole(each, visits)) for each in made[1:]}
    public = {name: found for name, found in by_name.items() if not name.startswith("_")}
    by_name = public if any(public.values()) else by_name
    parts = {name for each in made[1:] if by_name.get(each.name) for name in each.calls}
    for name, recipes in by_name.items():
        for recipe in recipes:
            if name not in parts or recipe.complete:
                yield recipe


def _whole(made: Made, visits: Visits) -> Iterator[Recipe]:
    """The objects that say how to train, without those that others hold; and only those that have degrees and
    a batch, where there are such, as the others are parts that were replaced."""
    found = {id(tree): _recipe(made.name, tree, visits) for tree in made.trees}
    telling = [each for each in found.values() if each is not None]
    held: set[int] = set()
    for each in telling:
        for below in each.tree.below():
            visits.spend()
            held |= {id(below)} if below is not each.tree else set()
    outer = [each for each in telling if id(each.tree) not in held]
    yield from [each for each in outer if each.complete] or outer


def _recipe(name: str, tree: Tree, visits: Visits) -> Recipe | None:
    recipe = Recipe(name, tree, tuple(attributes(tree, visits)))
    shaped = _RECIPE.search(tree.head) and recipe.says(("num_nodes", "devices"))
    return recipe if shaped or recipe.says(_DEGREES) else None


def _settings(path: str, found: Iterable[Attribute]) -> Iterator[Setting]:
    for scalar in scalars(path, found):
        told = scalar.setting()
        yield Setting("python", told.name, told.values, path, told.line, told.column)

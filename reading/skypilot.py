"""A task of SkyPilot -> the command that its nodes run, followed as in a script."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from ..dsl.inputs.documents import yaml_nodes
from .bash.script import Folder, no_folder
from .bash.source import file_source
from .bash.values import Piece, Text, Word
from .facts import Unknown
from .kubernetes.containers import PodCommand, commands_of, replaced
from .kubernetes.manifest import Container, Counted, Pods
from .yaml_tree import Tree, number_in

#: The kind of its nodes, where those of Kubernetes have the kind of their object.
KIND = "SkyPilot"
_RUN = re.compile(r"^run:", re.MULTILINE)
_ASKS = re.compile(r"^(?:resources|num_nodes):", re.MULTILINE)
_GPUS = re.compile(r"\baccelerators:")
#: Folders that are looked for in the `run` lines.
MOST_MOUNTS = 20
_RANK = Unknown("it differs on each node", nonempty=True)
_ADDRESSES = Unknown("SkyPilot sets it", nonempty=True)


def is_task(text: str) -> bool:
    """Whether a YAML is a task that takes GPUs; one with variables of another language is no YAML yet."""
    asks = _RUN.search(text) and _ASKS.search(text) and _GPUS.search(text)
    return bool(asks) and "{{" not in text and "{%" not in text


def read_task(
    path: str,
    text: str,
    *,
    environment: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
    folder: Folder = no_folder,
) -> list[PodCommand]:
    """Commands that each task of the file runs on its nodes. Raises `ValueError` for invalid YAML."""
    found: list[PodCommand] = []
    source = file_source(path, text)
    for node in yaml_nodes(text):
        task = Tree(source, node)
        run = task.get("run")
        if run is not None:
            container = _container(task, _at_hand(task, run))
            machines = Pods(KIND, task, nodes(task), accelerators(task), (container,))
            found += commands_of(path, [machines], environment or {}, texts or {}, folder)
    return found


def nodes(task: Tree) -> Counted | None:
    """How many nodes it runs on: one unless it is said; None for what only names other tasks."""
    said = task.get("num_nodes")
    if said is not None:
        return number_in(said.word.pieces), said.word
    resources = task.get("resources")
    return None if resources is None else (1, resources.word)


def accelerators(task: Tree) -> Counted | None:
    """GPUs of a node, `H100:8` or `{H100: 8}`; unknown where there is a choice."""
    said = task.get("resources", "accelerators")
    if said is None:
        return None
    members = [*said.all()]
    if len(members) > 1 or (members and members[0][0].isdigit()):
        return Unknown("SkyPilot chooses one of several"), said.word
    if members:
        return number_in(members[0][1].word.pieces), members[0][1].word
    text = said.text
    if isinstance(text, Unknown):
        return text, said.word
    count = text.partition(":")[2]
    return number_in((said.word.origin._replace(text=count),)) if count else 1, said.word


def _container(task: Tree, run: Word) -> Container:
    """The `run` lines are a script of bash, with SkyPilot's variables and those of `envs`."""
    words = (*(Word((run.origin._replace(text=text),)) for text in ("bash", "-c")), run)
    own = {name: each.word.pieces for name, each in task.all("envs")}
    return Container(words, {**_variables(task), **own})


def _variables(task: Tree) -> dict[str, Text]:
    """SkyPilot 0.14, sky/skylet/constants.py."""
    place = task.word.origin
    found: dict[str, Text] = {
        "SKYPILOT_NODE_RANK": (place._replace(text=_RANK),),
        "SKYPILOT_NODE_IPS": (place._replace(text=_ADDRESSES),),
    }
    counts = {"SKYPILOT_NUM_NODES": nodes(task), "SKYPILOT_NUM_GPUS_PER_NODE": accelerators(task)}
    for name, counted in counts.items():
        if counted is not None:
            found[name] = (_written(counted),)
    return found


def _written(counted: Counted) -> Piece:
    number, word = counted
    return word.origin._replace(text=number if isinstance(number, Unknown) else str(number))


def _at_hand(task: Tree, run: Tree) -> Word:
    """The `run` lines with the folders of this machine for those that the nodes have of them."""
    mounted = dict(islice(_mounted(task), MOST_MOUNTS))
    folders: dict[str, Text] = {
        target: (run.word.origin._replace(text=source),) for target, source in mounted.items()
    }
    pattern = re.compile(f"({'|'.join(map(re.escape, folders))})(?=/)")
    return Word(tuple(replaced(run.word.pieces, pattern, folders))) if folders else run.word


def _mounted(task: Tree) -> Iterator[tuple[str, str]]:
    """Folders of this machine that the nodes have, by their paths there."""
    said = task.get("workdir")
    if said is not None and isinstance(said.text, str) and said.text:
        yield "~/sky_workdir", said.text
    for target, source in task.all("file_mounts"):
        if isinstance(source.text, str) and source.text and "://" not in source.text:
            yield target.rstrip("/"), source.text.rstrip("/")

"""Settings -> what torchtitan's own configuration says of each, as JSON: nothing, or its complaint.

A setting is taken where the configuration has it, takes its value, and would read the same value from the
command line, whose words tyro converts by the field's type: a file's value of another type is taken as it is,
and breaks where it is used.

python torchtitan_extra_probe.py SETTINGS.json OUT.json
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import io
import json
import sys
import tomllib
from importlib import import_module
from typing import Any

import torchtitan_stand_ins as stand_ins

KERNELS = ("torchtitan.components.quantization", "torchtitan.models.moe")
NEWER_KERNELS = ("torchtitan.models.common.token_dispatcher",)


def complaint(key: str, text: str) -> str:
    *path, name = key.split(".")
    try:
        value = read(text)
        section = functools.reduce(getattr, path, CONFIG)
        with_value(CONFIG, path, name, value)
        said = from_words(section, name, value)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    return "" if said == value else f"{value!r} of the file is {said!r} of the command line"


def with_value(config: Any, path: list[str], name: str, value: Any) -> None:
    """0.2 makes its classes of nested tables, later releases of keyword arguments."""
    if MANAGER is not None:
        table = {name: value}
        for each in reversed(path):
            table = {each: table}
        MANAGER()._dict_to_dataclass(type(config), table)
        return
    for depth in range(len(path), -1, -1):
        inner = functools.reduce(getattr, path[:depth], config)
        value = dataclasses.replace(inner, **{name: value})
        name = path[depth - 1] if depth else name


def from_words(section: Any, name: str, value: Any) -> Any:
    """The value that tyro makes of its words; an empty list has none, and the text None says no value."""
    if value == []:
        return value
    if value == "None":
        return value if isinstance(from_words(section, name, "none"), str) else None
    made = CLI(type(section), args=[word(name, value)], default=section, registry=REGISTRY)
    found = getattr(made, name)
    if isinstance(value, list):  # divided at commas or not, as the release has it
        return ",".join(found).split(",")
    return found if type(found) is type(value) else (type(found), found)


def word(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={','.join(value) if isinstance(value, list) else value}"


def read(text: str) -> Any:
    return tomllib.loads(f"value = {text}")["value"] if MANAGER else ast.literal_eval(text)


def made() -> tuple[Any, Any]:
    """A whole configuration, and the class that reads 0.2's TOML."""
    try:
        stand_ins.before_import(*KERNELS)
    except ModuleNotFoundError:
        stand_ins.before_import(*NEWER_KERNELS)
    config = import_module("torchtitan.config")
    if hasattr(config, "JobConfig"):
        return config.JobConfig(), config.ConfigManager
    return import_module("torchtitan.models.llama3.config_registry").llama3_debugmodel(), None


if __name__ == "__main__":
    CONFIG, MANAGER = made()
    CLI = import_module("tyro").cli
    REGISTRY = import_module("torchtitan.config.manager").custom_registry
    with open(sys.argv[1]) as given:
        settings = json.load(given)
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        found = [complaint(key, text) for key, text in settings]
    with open(sys.argv[2], "w") as out:
        json.dump(found, out)

"""Warnings about what a job may say and hardly means: a module each, said by `parc check` and in editors."""

import re
from collections.abc import Iterator
from types import ModuleType

from parc.dsl.diagnostics import Diagnostic

from . import (
    always,
    bits,
    head_size,
    last_step,
    never,
    no_price,
    padded_vocab,
    unused_let,
)
from .read_job import ReadJob

#: The modules: CODE, TITLE, SOURCE (of the facts, empty where there are none), `check(read)`.
WARNINGS: tuple[ModuleType, ...] = (
    unused_let,
    always,
    never,
    last_step,
    padded_vocab,
    head_size,
    bits,
    no_price,
)


def warnings(read: ReadJob) -> Iterator[Diagnostic]:
    """The complaints about a sound job."""
    for module in WARNINGS:
        yield from module.check(read)


def name_of(module: ModuleType) -> str:
    """The short name of a warning, such as unused-let."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def parts(module: ModuleType) -> dict[str, str]:
    """The parts What, Why, Bad and Good of a warning's docstring; the last two are blocks of a job."""
    from parc.dsl.inputs.docstrings import docstring

    first, *rest = re.split(r"^(Why|Bad|Good):\n", docstring(module), flags=re.MULTILINE)
    found = dict(zip(rest[::2], rest[1::2], strict=True))
    return {"What": first.strip()} | {name: text.strip() for name, text in found.items()}


def page(module: ModuleType) -> str:
    """The page of a warning in Markdown."""
    said = parts(module)
    source = f"## Source\n\n{module.SOURCE}\n\n" if module.SOURCE else ""
    return (
        f"# {module.CODE} {name_of(module)}\n\n{module.TITLE} (warning)\n\n{said['What']}\n\n"
        f"## Why\n\n{said['Why']}\n\n## Fails\n\n```text\n{said['Bad']}\n```\n\n"
        f"## Passes\n\n```text\n{said['Good']}\n```\n\n{source}"
        f"## Suppressing\n\n`# parc: ignore[{module.CODE}] reason` on the line.\n"
    )

"""The page of every setting, decision and quantity, from the language's own tables."""

from __future__ import annotations

from docs.tables.language import tables
from parc.backends import BACKENDS

#: The sections in the order of a job: its name, what stands above its table.
_BLOCKS = (
    ("model", "What is trained; every number is of the whole model."),
    ("gpu", "One accelerator. FLOP rates are dense, bandwidths go one way."),
    ("cluster", "The nodes and what joins them."),
    ("train", "The batch, its length and its arithmetic."),
    ("launch", "What starts the files: `launch slurm { ... }`."),
    ("launch-kubernetes", "What makes them pods: `launch kubernetes { ... }`."),
    ("launch-hosts", "What starts them over ssh: `launch hosts { ... }`."),
    ("launch-skypilot", "What SkyPilot starts them with: `launch skypilot { ... }`."),
    ("launch-ray", "What makes them pods that Ray joins: `launch ray { ... }`."),
)
_INTRODUCTION = """# Settings

Every setting of every block with its type or unit, its bounds, its default and its meaning, as this
release reads them.
[The language](../language.md) says how blocks, units and conditions go together; `parc check` says what
is wrong with a job.
"""


def page() -> str:
    """The page in Markdown. Raises KeyError for a block of the language that has no section here."""
    targets = {name: backend.target.options for name, backend in BACKENDS.items()}
    found = tables(targets)
    parts = [_INTRODUCTION]
    parts += [_section(f"`{name}`", text, found.pop(name)) for name, text in _BLOCKS]
    for name in targets:
        text = f"What a job may choose of {name} alone, in `target {name} {{ ... }}`."
        parts.append(_section(f"`target {name}`", text, found.pop(f"target-{name}")))
    text = "What the search decides, and conditions may name."
    parts.append(_section("Decisions", text, found.pop("goal-variables")))
    text = "What conditions and objectives may measure."
    parts.append(_section("Quantities", text, found.pop("goal-quantities")))
    for name in ("codes", "unsupported"):  # of no settings
        del found[name]
    if found:
        raise KeyError(f"no section for {sorted(found)}")
    return "\n".join(parts).replace("](#", "](../language.md#")


def _section(title: str, text: str, table: str) -> str:
    return f"## {title}\n\n{text}\n\n{table}\n"

"""The tables of docs/backends.md: how a job says each fact of what runs beneath a target."""

from __future__ import annotations

from docs.tables import markdown
from parc.backends import BACKENDS
from parc.backends.stack_facts import FACTS, Fixed, Said
from parc.dsl.job import Train
from parc.dsl.schema import setting_types


def tables() -> dict[str, str]:
    """The table by its name: a row for each fact, a column for each target."""
    rows = [(words, *(_cell(name, fact) for name in BACKENDS)) for fact, words in FACTS.items()]
    sources = [(f"`{name}`", FACTS[fact], *why) for name, fact, why in _reasons()]
    return {
        "stack": markdown(("fact", *(f"`{name}`" for name in BACKENDS)), rows),
        "stack-reasons": markdown(("target", "fact", "what", "why"), sources),
    }


def _cell(target: str, fact: str) -> str:
    match BACKENDS[target].stack.get(fact):
        case Said() as said:
            return f"`{said.setting}`: {_values(target, said)}"
        case Fixed(always):
            return f"always {always}"
    return ""


def _values(target: str, said: Said) -> str:
    """Every value that the setting takes, the default first."""
    block = Train if said.of_train else BACKENDS[target].target.options
    default = block.model_fields[said.name].default
    kind = setting_types(block)[said.name]
    words = [False, True] if kind.kind == "truth" else list(kind.words)
    rest = [each for each in words if each != default]
    named = [f"`{str(each).lower()}`" for each in (default, *rest) if each is not None]
    shown = ", ".join(["its own choice", *named] if default is None else named)
    return shown + (" (not priced)" if not said.priced else "")


def _reasons() -> list[tuple[str, str, tuple[str, str]]]:
    """Where a framework's code says what no job can, and why a fact has no price."""
    found = []
    for name, backend in BACKENDS.items():
        for fact, each in backend.stack.items():
            match each:
                case Fixed(always, source):
                    found.append((name, fact, (always, source)))
                case Said(setting=setting, why=why) if why:
                    found.append((name, fact, (f"`{setting}` is not priced", why)))
    return found

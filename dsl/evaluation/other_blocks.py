"""A setting in the wrong block, or in none -> the block that has it, and the edits that bring it there."""

from collections.abc import Mapping

from pydantic import BaseModel

from ..diagnostics import Fix
from ..fixes import given, into, removal
from ..schema import CLASSES, setting_types
from ..syntax.tree import Identifier, Setting
from .spellings import SETTINGS

#: Help and cure; None where no other block has the setting.
Cure = tuple[str, Fix | None] | None
#: Blocks that a job has one of, and those of GPUs.
_SINGLE = ("model", "cluster", "train", "launch", "gpu")


def of_another(
    setting: Setting, title: str = "", targets: Mapping[str, type[BaseModel]] | None = None
) -> Cure:
    """The cure of a setting that the block `title` does not have, of blocks that take its value; `targets`
    are those that the job has, and all in the block of a target."""
    word = setting.key.name
    for key in dict.fromkeys((word, SETTINGS.get(word.lower(), word))):
        homes = [
            kind
            for kind in _SINGLE
            if not title.startswith(f"`{kind}") and _takes(CLASSES[kind], key, setting)
        ]
        takers = targets or {}
        if title.startswith("target"):
            others = [name for name in takers if _takes(takers[name], key, setting)]
            if not homes and others:
                return _elsewhere(key, setting, others)
            takers = {}
        homes += [f"target {name}" for name in takers if _takes(takers[name], key, setting)]
        if homes and (len(homes) == 1 or homes[0].startswith("target")):
            return moved(setting, key, homes)
    return None


def _takes(of: type[BaseModel], key: str, setting: Setting) -> bool:
    """Whether a block has the setting, and where it takes words alone, this one."""
    known = setting_types(of).get(key)
    if known is None:
        return False
    word = isinstance(setting.value, Identifier) and known.kind == "word"
    return not word or setting.value.span.text in known.words


def _elsewhere(key: str, setting: Setting, names: list[str]) -> tuple[str, None]:
    """Other targets have the setting: an edit would be another job."""
    line = f"`target {names[0]} {{ {key} = {setting.value.span.text} }}`"
    return f"it is a setting of {' and '.join(f'`{name}`' for name in names)}: {line}", None


def moved(setting: Setting, key: str, homes: list[str]) -> tuple[str, Fix | None]:
    """Help, and the edits that take a setting out and put it into each of the blocks that the text has."""
    line = f"{key} = {setting.value.span.text}"
    if len(homes) == 1 and (said := given(homes[0], key, setting.span.source)) is not None:
        same = said == setting.value.span.text
        cure = "leave it out" if same else "change it there, and leave this out"
        help = f"it is a setting of `{homes[0]}`, which says `{key} = {said}`: {cure}"
        return help, Fix((removal(setting.span),), safe=same)
    places = [into(home.replace(" ", "[ \\t]+"), line, setting.span.source) for home in homes]
    edits = [place for place in places if place is not None]
    listed = " and ".join(f"`{home}`" for home in homes)
    fix = Fix((removal(setting.span), *edits)) if len(edits) == len(homes) else None
    return f"it is a setting of {listed}: `{homes[0]} {{ {line} }}`", fix

"""A plan -> the settings that would make it much faster, one line each."""

from __future__ import annotations

from parc.compiler.plan import Plan, WorthwhileSetting

from .words.paragraphs import BELOW, words


def worthwhile_lines(plan: Plan) -> list[str]:
    """The gain that each setting would bring in this layout; nothing where none is worth it."""
    head, lines = "  faster  ", list[str]()
    for each in plan.worthwhile:
        lines += words(head, worthwhile(each))
        head = BELOW
    return lines


def worthwhile(setting: WorthwhileSetting) -> str:
    """`dispatcher = deepep` in `target megatron`: 12 % faster, needs DeepEP installed."""
    *block, name = setting.path
    said = f"`{name} = {str(setting.value).lower()}` in `{' '.join(block)}`"
    needs = f", {setting.needs}" if setting.needs else ""
    return f"{said}: {setting.gain:.0%} faster{needs}"

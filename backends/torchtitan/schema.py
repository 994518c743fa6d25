"""The names that a torchtitan configuration may use, and what each takes. Others stop 0.2 at load
(0.2.2 config/manager.py:168)."""

from collections.abc import Mapping

from ..released_options import ReleasedOption, released_options

#: Kind of a setting: int, float, bool, str, list (of texts), lists, or its words with `|` between them.
Kinds = Mapping[str, Mapping[str, str]]


def sections(release: str) -> Kinds:
    """Kind by key of each section of a release that parc writes for."""
    return kinds_of(released_options("torchtitan", release))


def kinds_of(options: Mapping[str, ReleasedOption]) -> Kinds:
    """Kind by key of each section."""
    found: dict[str, dict[str, str]] = {}
    for name, option in options.items():
        section, _, key = name.rpartition(".")
        found.setdefault(section, {})[key] = _kind(option)
    return found


def _kind(option: ReleasedOption) -> str:
    if option.count:
        return "lists" if option.kind == "list" else "list"
    return "|".join(option.choices) or option.kind


SECTIONS, PYTHON_SECTIONS = sections("0.2.2"), sections("0.3")

#: Setting of 0.2.2 -> its place in 0.2.0 or 0.3.0, where that is another one.
MOVED = {
    "debug.seed": "training.seed",
    "debug.deterministic": "training.deterministic",
    "debug.moe_force_load_balance": "training.debug_moe_force_load_balance",
    "parallelism.enable_async_tensor_parallel": "compile.enable_async_tensor_parallel",
} | {
    f"{before}.{key}": f"{after}.{key}"
    for before, after in (
        ("profiling", "profiler"),
        ("validation", "validator"),
        ("training.dataloader", "dataloader"),
        ("job", "debug"),
    )
    for key in SECTIONS[before]
    if key in PYTHON_SECTIONS[after]
}

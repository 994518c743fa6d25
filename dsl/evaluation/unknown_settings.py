"""A setting that its block does not have -> the complaint, with the cure where what was meant is known."""

from collections.abc import Callable, Mapping

from .. import codes
from ..diagnostics import Diagnostic, Fix, replaced, suggested
from ..expression import VARIABLES
from ..fixes import removal, required
from ..syntax.tree import Number, Setting
from .refused_settings import refused
from .spellings import DECISIONS, GPUS, SETTINGS

#: Help and cure; None from who does not know the setting.
Cure = tuple[str | None, Fix | None] | None

#: Decisions whose names are settings too: those of a cluster, and of the learning rate.
_ELSEWHERE = ("nodes", "gpus", "schedule")


def unknown(
    setting: Setting, title: str, known: Mapping[str, object], beside: Mapping[str, Setting]
) -> Diagnostic:
    """The complaint about a setting of the block `title`, which has `known`; `beside` are those it gives."""
    if (said := refused(setting, title)) is not None:
        return said
    key = setting.key.name
    help, fix = next(filter(None, (cure(setting, beside) for cure in _CURES)), (None, None))
    if help is None:
        help, fix = suggested(key, setting.key.span, known, SETTINGS)
    if help is None and len(known) <= 12:
        names = ", ".join(f"`{name}`" for name in known) or "no settings"
        help = f"{title} knows {names}"
    message = f"unknown setting `{key}` of {title}"
    return Diagnostic(codes.UNKNOWN_NAME, message, setting.span, help=help, fix=fix)


def _decision(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """What the search decides is required in the goal."""
    key = setting.key.name.lower()
    name = key if key in VARIABLES else DECISIONS.get(key)
    if name is None or name in _ELSEWHERE:
        return None
    condition = f"{name} == {setting.value.span.text}"
    edits = removal(setting.span), required(condition, setting.span.source)
    return f"the search decides it; to fix it, `goal {{ require {condition} }}`", Fix(edits)


def _epochs(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A length in epochs takes the size of the data, which a job does not know."""
    if setting.key.name not in ("epochs", "num_epochs", "num_train_epochs", "max_epochs"):
        return None
    given = "tokens" in beside or "steps" in beside
    help = f"say `tokens`: {setting.value.span.text} times those of the data"
    return help, Fix((removal(setting.span),), safe=False) if given else None


def _gpus(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A number of GPUs is one of nodes, where it is a multiple of those of a node."""
    if setting.key.name not in GPUS or "gpus_per_node" not in beside:
        return None
    counts = (setting.value, beside["gpus_per_node"].value)
    total, per_node = (
        int(n.text) if isinstance(n, Number) and n.text.isdigit() else 0 for n in counts
    )
    own = "nodes" in beside and beside["nodes"].span.source is setting.span.source
    if not per_node or total % per_node or own:
        return "a cluster has `nodes`, each of `gpus_per_node`", None
    text = f"nodes = {total // per_node}"
    return f"a node has {per_node}: say `{text}`", replaced(setting.span, text)


_CURES: tuple[Callable[[Setting, Mapping[str, Setting]], Cure], ...] = (_gpus, _decision, _epochs)

"""A setting of another launcher -> its name in this one, or who has it."""

from ..diagnostics import Fix, replaced
from ..schema import LAUNCHES, setting_types
from ..syntax.tree import Setting

#: Settings that mean nearly the same: those of SLURM, and those of others.
_SAME = {
    "container": "image",
    "mounts": "volumes",
    "requeue": "restarts",
    "partition": "queue",
    "account": "namespace",
    "qos": "priority",
    "constraint": "node_selector",
}


def of_other_launcher(setting: Setting, title: str) -> tuple[str, Fix | None] | None:
    """The cure where the block `title` is a `launch` and another launcher has the setting; None else."""
    if not title.startswith("`launch"):
        return None
    own = setting_types(LAUNCHES[title.strip("`").partition(" ")[2] or "slurm"])
    key = setting.key.name
    pairs = [*_SAME.items(), *((theirs, ours) for ours, theirs in _SAME.items())]
    same = next((two for one, two in pairs if one == key and two in own), None)
    if same is not None:
        return f"it is `{same}` here", replaced(setting.key.span, same, safe=False)
    having = [f"`launch {name}`" for name, of in LAUNCHES.items() if key in setting_types(of)]
    return (f"it is a setting of {' and '.join(having)}", None) if having else None

"""A setting that no block has -> where it stands now, or why it is refused, instead of `unknown`."""

from collections.abc import Mapping

from .. import codes
from ..diagnostics import Diagnostic, Fix, Span, replaced
from ..fixes import removal
from ..syntax.tree import Setting
from ..unsupported import of_setting

#: Former settings of `target` blocks, and what says the same now, with the value that was given.
MOVED: Mapping[str, str] = {
    "aux_loss": "model {{ aux_loss = {} }}",
    "mtp_loss": "model {{ mtp_weight = {} }}",
    "rope_scaling": "model {{ rope_scaling = llama3; rope_factor = {}; rope_original_positions = 8192 }}",
    "router": "model {{ router_score = {} }}",
    "router_norm": "model {{ router_norm = {} }}",
    "router_scale": "model {{ router_scale = {} }}",
    "router_groups": "model {{ router_groups = {} }}",
    "router_limited_groups": "model {{ router_limited_groups = {} }}",
    "log_freq": "log_interval = {}",
    "dataset": "data = {}",
}

#: Blocks with names of their own for other things, such as the `image` of a container.
_FREE = ("`launch", "`gpu", "`cluster")


def refused(setting: Setting, title: str) -> Diagnostic | None:
    """The complaint about a setting that the block `title` does not have; None for any other name."""
    key, value = setting.key.name, setting.value.span.text
    asked = None if title.startswith(_FREE) else of_setting(key, value)
    if asked is not None:
        fix = Fix((removal(setting.span),), safe=False)
        shown = f"{key} = {value}" if of_setting(key) is None else key
        return Diagnostic(
            asked.code, asked.message(shown), setting.span, help=asked.instead, fix=fix
        )
    if key in MOVED and title.startswith("target"):
        return moved(key, value, title, setting.span)
    return None


def moved(key: str, value: str, title: str, place: Span) -> Diagnostic:
    """The complaint about a former setting of a target, one of `MOVED`, with where its value goes now."""
    message = f"`{key}` is no longer a setting of {title}"
    text = MOVED[key].format(value)
    own = not text.startswith("model")
    fix = replaced(place, text) if own and place.source.name != "--set" else None
    return Diagnostic(codes.UNKNOWN_NAME, message, place, help=f"moved: say `{text}`", fix=fix)

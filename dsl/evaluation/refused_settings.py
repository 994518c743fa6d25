"""A setting that no block has -> where it stands now, or why it is refused, instead of `unknown`."""

import re
from collections.abc import Mapping

from .. import codes
from ..diagnostics import Diagnostic, Fix, Span, replaced
from ..fixes import removal
from ..syntax.tree import Setting

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
#: Names of adapters; the ranks of latent attention are sizes of the model.
_ADAPTERS = re.compile(
    r"(?!(q|kv)_lora_rank$)(.*_)?(q?lora|dora|peft|adapters?)(_.*)?", re.IGNORECASE
)


def is_adapter(name: str) -> bool:
    """Whether a setting or block asks for adapters, such as `lora_rank`, `qlora` or `adapter`."""
    return _ADAPTERS.fullmatch(name) is not None


def adapter(name: str) -> str:
    return f"`{name}` asks for adapters, which parc does not have: it trains all weights"


def refused(setting: Setting, title: str) -> Diagnostic | None:
    """The complaint about a setting that the block `title` does not have; None for any other name."""
    key, value = setting.key.name, setting.value.span.text
    if is_adapter(key):
        help = (
            "leave it out; `train { weights = ... }` starts from a checkpoint and trains all of it"
        )
        fix = Fix((removal(setting.span),), safe=False)
        return Diagnostic(codes.ADAPTERS, adapter(key), setting.span, help=help, fix=fix)
    if key in MOVED and title.startswith("target"):
        return moved(key, value, title, setting.span)
    return None


def moved(key: str, value: str, title: str, place: Span) -> Diagnostic:
    """The complaint about a former setting of a target, one of `MOVED`, with where its value goes now."""
    message = f"`{key}` is no setting of {title} any more"
    text = MOVED[key].format(value)
    own = not text.startswith("model")
    fix = replaced(place, text) if own and place.source.name != "--set" else None
    return Diagnostic(codes.UNKNOWN_NAME, message, place, help=f"moved: say `{text}`", fix=fix)

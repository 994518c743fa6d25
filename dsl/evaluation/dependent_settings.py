"""Settings that mean something beside certain values of another one, which an override takes back with it."""

from collections.abc import Mapping

from ..syntax.tree import Setting

#: Settings of scaled rotary positions, and the kinds that have them.
OF_ROPE_SCALING = {
    "rope_factor": ("linear", "llama3", "yarn"),
    "rope_original_positions": ("llama3", "yarn"),
    "rope_low_freq": ("llama3",),
    "rope_high_freq": ("llama3",),
    "rope_beta_fast": ("yarn",),
    "rope_beta_slow": ("yarn",),
    "rope_mscale": ("yarn",),
    "rope_mscale_all_dim": ("yarn",),
    "rope_truncate": ("yarn",),
}


def taken_back(own: Mapping[str, Setting]) -> set[str]:
    """The inherited settings that have no meaning any more beside what a block gives itself.

    `rope_scaling = none` over an entry of the library takes its `rope_factor` back.
    """
    scaling = own.get("rope_scaling")
    if scaling is None:
        return set()
    kind = scaling.value.span.text
    return {key for key, kinds in OF_ROPE_SCALING.items() if kind not in kinds and key not in own}

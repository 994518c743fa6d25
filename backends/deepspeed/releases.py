"""What differs between the releases of DeepSpeed that parc writes for, by `version` of the target."""

from ..released_options import released_options, releases

NEWEST = list(releases("deepspeed"))[-1]


def top_keys(release: str = NEWEST) -> frozenset[str]:
    """Keys of ds_config.json itself that a release looks up; any other is ignored in silence."""
    return frozenset(name for name in released_options("deepspeed", release) if "." not in name)

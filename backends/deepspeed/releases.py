"""Differences between the releases of DeepSpeed that parc writes for, by `version` of the target.

Which keys a release reads is the table of its own configuration (`released_options.csv`).
"""

from ...compiler.target import Predicate
from ...dsl.job import Job
from ..released_options import released_options, releases, releases_with
from .options import options_of

NEWEST = list(releases("deepspeed"))[-1]


def top_keys(release: str = NEWEST) -> frozenset[str]:
    """Keys of ds_config.json itself that a release looks up; any other is ignored in silence."""
    return frozenset(name for name in released_options("deepspeed", release) if "." not in name)


def reads(job: Job, key: str) -> bool:
    """Whether the job's release looks up a key of ds_config.json."""
    return options_of(job).version in releases_with("deepspeed", key)


def _since(key: str) -> str:
    return releases_with("deepspeed", key)[0]


AUTOTP, ULYSSES = "tensor_parallel.autotp_size", "sequence_parallel_size"

PREDICATES = (
    Predicate(
        "PAR451",
        "autotp-release",
        "tp above 1 before DeepSpeed trains with AutoTP",
        ("tp",),
        lambda job, tp: (tp == 1) | reads(job, AUTOTP),
        lambda job, tp: (
            f"tp {tp} is not trained by DeepSpeed {options_of(job).version}; "
            f"{_since(AUTOTP)} is the first that does"
        ),
        "0.16.9 runtime/config.py: tensor_parallel",
        stricter="0.15 ignores the key, and trains with tp 1",
    ),
    Predicate(
        "PAR452",
        "ulysses-release",
        "cp above 1 before DeepSpeed makes the groups of Ulysses",
        ("cp",),
        lambda job, cp: (cp == 1) | reads(job, ULYSSES),
        lambda job, cp: (
            f"cp {cp} (Ulysses) has no groups in DeepSpeed {options_of(job).version}; "
            f"{_since(ULYSSES)} is the first that has"
        ),
        "0.17.6 runtime/sequence_parallel/parallel_state_sp.py",
        stricter="0.16 ignores the key, and has not the module that train.py imports",
    ),
)

"""Launch files that people have -> one `LaunchConfig` for each job that they start. Nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from .backend import LaunchConfig
from .deepspeed.read import read as read_deepspeed
from .megatron.read import read as read_megatron
from .torchtitan.read import read as read_torchtitan

#: Gives the text of a file that a script names (`source x.sh`), or None when there is none.
Folder = Callable[[str], str | None]
_NOTHING: Mapping[str, str] = MappingProxyType({})


def no_folder(path: str) -> str | None:
    """Only the files that were handed over can be followed."""
    return None


def read_jobs(
    texts: Mapping[str, str],
    *,
    environment: Mapping[str, str] = _NOTHING,
    arguments: Sequence[str] = (),
    folder: Folder = no_folder,
) -> list[LaunchConfig]:
    """What each job in these files is: the texts by path belong together.

    `environment` are variables that are set when the scripts start, `arguments` their positional ones.
    One config stands for one launched training command, or for one config file that nothing launches.
    """
    jobs = []
    for path, text in texts.items():
        kind = path.rpartition(".")[2]
        reader = {"json": read_deepspeed, "toml": read_torchtitan}.get(kind, read_megatron)
        jobs.append(reader({path: text}))
    return jobs

"""Paths -> texts of launch files, and complaints about files that are none."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from ..dsl.codes import NOT_UTF8, TOO_LARGE, UNREADABLE
from ..dsl.diagnostics import Diagnostic, JobError
from ..dsl.inputs.budget import Budget
from ..dsl.inputs.files import Binary, NotReadable, TooLarge, reason_of, text_of
from .discovery import Left, is_launch_file, within


@dataclass(frozen=True)
class Texts:
    """Texts by the name under which a user knows the file, and why others were not read. `named` are those
    of files and not of folders, `empty` the folders without a launch file."""

    texts: dict[str, str]
    unreadable: tuple[Diagnostic, ...] = ()
    named: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


def read_texts(
    paths: Iterable[str | os.PathLike[str]],
    skip_others: bool = False,
    left: Left | None = None,
    budget: Budget | None = None,
) -> Texts:
    """Every file named, or of those what looks like a launch file; in folders always only these.

    What is `left` out is not looked for in folders, nor among named files where others are skipped. A file of
    a folder that cannot be read, and what is beyond the budget, is left out there.
    """
    left, budget = left or Left(), budget or Budget()
    texts: dict[str, str] = {}
    complaints: list[Diagnostic] = []
    named: list[str] = []
    empty: list[str] = []
    for path in (os.path.normpath(os.fspath(given)) for given in paths):
        in_folder = os.path.isdir(path)
        names = within(path, left, budget) if in_folder else iter([path])
        first = next(names, None)
        if first is None:
            empty.append(path)
            continue
        for name in chain([first], names):
            if (
                skip_others
                and os.path.isfile(name)
                and (left.out(name) or not is_launch_file(name))
            ):
                continue
            try:
                text = _text(name)
            except JobError as error:
                if in_folder:
                    budget.leave(error.diagnostics[0].message, name)
                else:
                    complaints += error.diagnostics
                continue
            if name not in texts and not budget.takes(name, text):
                return Texts(texts, tuple(complaints), tuple(named), tuple(empty))
            texts[name] = text
            if not in_folder:
                named.append(name)
    return Texts(texts, tuple(complaints), tuple(named), tuple(empty))


def _text(path: str) -> str:
    """The text of a file; raises `JobError` for what is none."""
    try:
        return text_of(path)
    except FileNotFoundError:
        raise JobError([Diagnostic(UNREADABLE, f"there is no file `{path}`")]) from None
    except TooLarge as error:
        raise _refused(TOO_LARGE, path, error, "a launch file is a few kilobytes") from None
    except Binary as error:
        raise _refused(NOT_UTF8, path, error, "name scripts and configs only") from None
    except NotReadable as error:
        raise _refused(UNREADABLE, path, error) from None
    except (OSError, ValueError) as error:
        message = f"cannot read `{path}`: {reason_of(error)}"
        raise JobError([Diagnostic(UNREADABLE, message)]) from None


def _refused(code: str, path: str, error: NotReadable, help: str | None = None) -> JobError:
    return JobError([Diagnostic(code, f"`{path}`{str(error).removeprefix('it')}", help=help)])

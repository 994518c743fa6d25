"""A job file -> its text after the cures of its complaints, in rounds: one cure uncovers the next."""

from codecs import BOM_UTF8
from collections.abc import Sequence

from parc.backends import BACKENDS
from parc.dsl import JobError, Source, loads
from parc.dsl.fixes import applied
from parc.dsl.syntax.sources import read

#: Rounds after which cures that undo each other end.
ROUNDS = 10


def mended(path: str, overrides: Sequence[str], unsafe: bool = False) -> tuple[bytes, bytes, int]:
    """The bytes before and after, and how many cures were applied; `unsafe` ones only where asked for.

    Raises `JobError` for a file that cannot be read.
    """
    source, before = read(path, path)
    total = 0
    for _ in range(ROUNDS):
        text, count = _round(source, overrides, unsafe)
        if not count:
            break
        source, total = Source(path, text), total + count
    mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
    return before, mark + source.text.encode() if total else before, total


def _round(source: Source, overrides: Sequence[str], unsafe: bool) -> tuple[str, int]:
    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    try:
        loads(source.text, source.name, tuple(overrides), options)
    except JobError as error:
        fixes = [each.fix for each in error.diagnostics if each.fix]
        return applied(source, [fix for fix in fixes if fix.safe or unsafe])
    return source.text, 0

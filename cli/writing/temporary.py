"""Names of temporary files and folders by which parc knows its own again, whatever else is called so.

A name holds a digest of itself and of its folder under a secret of the user, which no repository and no
archive can know. Without a place for the secret nothing is known again: what a killed run has left is told.
"""

import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

#: Names of temporary files and folders begin with this.
PREFIX = ".parc-"
_DIGITS, _BYTES = 16, 32


def new_name(folder: Path) -> str:
    """An unguessable name for something temporary in a folder."""
    drawn = os.urandom(_DIGITS // 2).hex()
    return f"{PREFIX}{drawn}-{_tag(drawn, folder, make=True) or '0' * _DIGITS}"


def is_own(name: str, folder: Path) -> bool:
    """Whether parc, run by this user, has drawn this name for this folder."""
    drawn, dash, tag = name.removeprefix(PREFIX).partition("-")
    return bool(dash) and tag == _tag(drawn, folder, make=False)


def _tag(drawn: str, folder: Path, make: bool) -> str | None:
    secret = _secret(state_folder(), make)
    if not secret:
        return None
    text = f"{drawn}\0{folder}".encode(errors="surrogateescape")
    return blake2b(text, key=secret, digest_size=_DIGITS // 2).hexdigest()


def state_folder() -> Path | None:
    """The user's folder for state; None where the environment names none."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = given if os.path.isabs(given) else os.path.expanduser("~/.local/state")
    return Path(base, "parc") if os.path.isabs(base) else None


@cache
def _secret(folder: Path | None, make: bool) -> bytes:
    """The user's secret, drawn where there is none and it may be made; empty where there can be none."""
    if folder is None:
        return b""
    path = folder / "temporary.key"
    with suppress(OSError):
        if make and not os.path.lexists(path):
            _draw(path)
        return _read(path)
    return b""


def _draw(path: Path) -> None:
    """Whole or not at all, and the first of several processes wins."""
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    drawn = path.with_name(os.urandom(8).hex())
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    number = os.open(drawn, flags, 0o600)
    try:
        os.write(number, os.urandom(_BYTES))
        with suppress(FileExistsError):
            os.link(drawn, path)
    finally:
        os.close(number)
        os.unlink(drawn)


def _read(path: Path) -> bytes:
    """Empty unless it is a whole secret that is this user's alone."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(number)
        alone = found.st_uid == os.geteuid() and not found.st_mode & 0o077
        secret = os.read(number, _BYTES + 1) if alone and stat.S_ISREG(found.st_mode) else b""
        return secret if len(secret) == _BYTES else b""
    finally:
        os.close(number)

"""The processes of a pool: each takes so much memory and no more, and what is asked next has an answer."""

from __future__ import annotations

import asyncio
import resource

import pytest

from parc.serve.processes import Died, Pool, TookTooMuch
from parc.serve.running import listening

MOST = 512 * 2**20
SECONDS = 20.0


def took(request: dict[str, object]) -> tuple[str, bytes]:
    """Takes as many bytes as are asked for; its limit in place of an answer."""
    assert isinstance(request["bytes"], int)
    taken = bytearray(request["bytes"])
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    return f"{len(taken)}", str(limits[0]).encode()


def ended(request: dict[str, object]) -> tuple[str, bytes]:
    """As a library that has no memory left."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    raise SystemExit(1) if request else AssertionError


def test_a_process_that_takes_too_much_is_ended_and_the_next_answers() -> None:
    async def asked() -> None:
        pool = Pool(took, 1, 1, SECONDS, MOST)
        try:
            assert await pool.ask({"bytes": 2**20}) == (str(2**20), str(MOST).encode())
            (first,) = pool._idle
            with pytest.raises(TookTooMuch):
                await pool.ask({"bytes": MOST})
            assert not first.process.is_alive()
            assert (await pool.ask({"bytes": 2**20}))[0] == str(2**20)
        finally:
            pool.end()

    asyncio.run(asked())


def test_a_process_that_ends_by_itself_is_told() -> None:
    async def asked() -> None:
        pool = Pool(ended, 1, 1, SECONDS, MOST)
        try:
            for _ in range(2):
                with pytest.raises(Died):
                    await pool.ask({"bytes": 0})
        finally:
            pool.end()

    asyncio.run(asked())


def test_a_port_is_had_once() -> None:
    with listening(0) as place, pytest.raises(OSError):
        listening(place.getsockname()[1])

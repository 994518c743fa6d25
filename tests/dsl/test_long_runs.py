"""A line of tens of thousands of characters is refused as soon as a short one: no cure is sought in it."""

from __future__ import annotations

import time

import pytest

from parc.dsl import loads
from parc.dsl.diagnostics import JobError

LENGTH = 100_000
PLACES = (
    "model m {{ layers = {} }}\n",
    "{} model m {{ layers = 2 }}\n",
    "goal {{ require tp < {} }}\n",
)


@pytest.mark.parametrize("piece", ["9", "a-", "1,", "a ", "8 8", "is ", "1 to ", " ", "0x", "("])
@pytest.mark.parametrize("place", PLACES)
def test_a_long_line_is_soon_refused(place: str, piece: str) -> None:
    text = place.format(piece * (LENGTH // len(piece)))
    started = time.process_time()
    with pytest.raises(JobError):
        loads(text, "job.par")
    assert time.process_time() - started < 5

"""A framework of the tests: its whole package, as a backend of parc has to declare it."""

from __future__ import annotations

from parc.backends.backend import Backend
from tests.support.toy_backend.emit import ENTRY, emit, facts
from tests.support.toy_backend.smoke import SMOKE
from tests.support.toy_backend.target import TARGET

BACKEND = Backend(
    __name__, target=TARGET, emit=emit, facts=facts, entry=ENTRY, smoke=SMOKE, brief={}
)

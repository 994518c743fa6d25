"""A framework of the tests: its whole package, as a backend of parc has to declare it."""

from __future__ import annotations

from parc.backends.backend import Backend
from tests.support.toy_backend.emit import emit, facts

BACKEND = Backend(__name__, emit=emit, facts=facts, brief={})

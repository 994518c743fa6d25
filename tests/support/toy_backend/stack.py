"""What runs beneath the toy: nothing that a job could choose."""

from __future__ import annotations

from parc.backends.stack_facts import Stack

FACTS: Stack = {}

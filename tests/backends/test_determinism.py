"""Emitters write the same bytes in every process, whatever the order of Python's hashes."""

from __future__ import annotations

import pytest

from tests.support.other_process import printed_by

#: Modules with plans of every feature of an emitter, as PLANS; about five of each are emitted.
MODULES = (
    "tests.support.megatron_plans",
    "tests.backends.deepspeed.test_emit_and_read",
    "tests.backends.deepspeed.test_hugging_face",
    "tests.backends.torchtitan.test_emit_and_read",
    "tests.backends.torchtitan.test_python_config",
)
EMIT = """
import hashlib, sys
from importlib import import_module
from parc.backends import BACKENDS
plans = list(import_module(sys.argv[1]).PLANS.items())
for name, plan in plans[:: len(plans) // 5]:
    for path, text in BACKENDS[plan.target].emit(plan).items():
        print(name, path, hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.mark.parametrize("module", MODULES)
def test_two_processes_write_the_same_bytes(module: str) -> None:
    first, second = (printed_by(EMIT, module, seed=seed).splitlines() for seed in ("1", "4242"))
    assert len(first) >= 5
    assert first == second

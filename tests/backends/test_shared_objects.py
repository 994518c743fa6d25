"""Configurations in Python whose objects and functions use each other again and again end with an answer."""

from __future__ import annotations

import gc
import time

import pytest

from parc.backends.launch_files import read_jobs

#: Of a processor; about 1 alone on a worker, and the paths through the first and the third are 9^12 and 9^9.
SECONDS = 10

_NEMO = "from nemo import lightning as nl\nx0 = nl.MegatronStrategy(tensor_model_parallel_size=2)\n"
_HELD = "".join(f"x{n + 1} = C({', '.join(f'k{k}=x{n}' for k in range(9))})\n" for n in range(12))
_CALLS = "".join(
    f"def f{n + 1}():\n" + "".join(f"    x{k} = f{n}()\n" for k in range(9)) + "    return x0\n"
    for n in range(9)
)
_NESTED = "".join(f"    c{n + 1} = Trainer.Config(a=c{n}, b=c{n})\n" for n in range(30))
#: A module, and whether it is beyond what is followed.
MODULES = {
    "objects": (f"{_NEMO}{_HELD}r = R(a=x12, tensor_model_parallel_size=2)\n", True),
    "itself": (f"{_NEMO}d = {{}}\nd['d'] = d\nr = R(plugins=d, a=[d], b=x0)\n", False),
    "calls": (f"def f0():\n    return Trainer.Config(a=1)\n{_CALLS}", True),
    "nested": (f"def f():\n    c0 = Trainer.Config(a=1)\n{_NESTED}    return c30\n", True),
    "its own field": ("def f():\n    c = Trainer.Config(a=1)\n    c.x = c\n    return c\n", False),
    "many": ("".join(f"def f{n}():\n    return Trainer.Config(a={n})\n" for n in range(99)), True),
}


@pytest.mark.parametrize("kind", MODULES)
def test_a_module_ends(kind: str) -> None:
    text, beyond = MODULES[kind]
    read_jobs({"config.py": _NEMO, "run.sh": "torchrun a.py\n"})  # loads the readers
    gc.collect()  # what other tests of this worker left is not the reader's
    started = time.process_time()
    found = read_jobs({"config.py": text})
    assert time.process_time() - started < SECONDS
    assert any(each.over_limit for job in found for each in job.unread) is beyond

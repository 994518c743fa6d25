"""parc measure keeps the files that it reads, and waits for none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.support.ran import Ran
from tests.support.simulated_probe import record

Measure = Callable[..., Ran]


def test_rows_are_never_waited_for_nor_replaced(measure: Measure) -> None:
    os.mkfifo("pipe")
    for path in ("pipe", "/dev/zero", "."):
        assert "it is not a regular file" in measure("--rows", path).err
    record(Path("rows.par"))
    assert "is read" in measure("--rows", "rows.par", "--force", output="rows.par").err
    assert measure("--rows", "rows.par").code == 0


def test_a_name_that_no_batch_script_can_say_is_refused(measure: Measure) -> None:
    found = measure("--nodes", "2", "--gpus-per-node", "8", output="a\nb.par")
    assert "no batch script can say" in found.err and not list(Path().iterdir())

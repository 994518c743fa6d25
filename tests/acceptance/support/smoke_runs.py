"""Conditions on a layout -> a job that asks for them, and what `parc smoke` says of training it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.smoke import Prepared, Request, look_into, prepare
from tests.acceptance.support.environments import cache_folder, environment
from tests.acceptance.support.feature_table import RESULTS, Ran

#: A grouped-query decoder of eight layers on two nodes; `parc smoke` makes it narrow.
DENSE = "model decoder from std.llama3_8b { layers = 8 }"
EXPERTS = "model experts from std.mixtral_8x7b { layers = 4; aux_loss = 0 }"
JOB = """\
{model}
cluster pair from std.dgx_h100 {{ nodes = {nodes} }}
train {{ seq_len = 8192; global_batch = 64; steps = 100; {train} }}
goal {{
{conditions}
}}
target {target} {{ {options} }}
"""
#: For a machine that is several times slower than the two cores on which the longest takes a minute.
LIMIT_SECONDS = 900
#: Runs at once, beside the other tests: a run's start uses one core, and its ranks wait for each other.
AT_ONCE = 2


@dataclass(frozen=True)
class Wanted:
    """A job by its layout: `layout` is required of it, `trained` is what must be left in `processes`."""

    layout: str
    processes: int
    trained: dict[str, int | str]
    model: str = DENSE
    options: str = ""
    nodes: int = 1
    train: str = ""


def job_text(target: str, wanted: Wanted) -> str:
    rules = (f"  require {each.strip()}" for each in wanted.layout.split(","))
    return JOB.format(
        model=wanted.model,
        nodes=wanted.nodes,
        conditions="\n".join(rules),
        target=target,
        options=wanted.options,
        train=wanted.train,
    )


def extensions() -> dict[str, str]:
    """Where kernels that DeepSpeed compiles are kept for the next run."""
    return {"TORCH_EXTENSIONS_DIR": str(cache_folder() / "torch_extensions")}


def prepared(target: str, wanted: Wanted, name: str, folder: Path, steps: int) -> Prepared:
    """The files of a shrunken job in a new folder, for the environment of that name."""
    folder.mkdir()
    job = folder.with_suffix(".par")
    job.write_text(job_text(target, wanted))
    (plan,) = parc.compile(parc.load(job))
    interpreter = look_into(str(environment(name).python))
    assert not isinstance(interpreter, str), interpreter
    ready = prepare(plan, Request(interpreter, wanted.processes, steps), folder)
    assert ready is not None
    return ready


def smoked(
    target: str,
    wanted: Wanted,
    name: str,
    folder: Path,
    running: set[subprocess.Popen[str]],
    *more: str,
) -> dict[str, Any]:
    """What `parc smoke --json` prints of the one run; it is among `running` meanwhile."""
    folder.mkdir()
    job = folder / "job.par"
    job.write_text(job_text(target, wanted))
    command = [sys.executable, "-m", "parc", "smoke", str(job), "--json", "--cpu"]
    command += ["--python", str(environment(name).python)]
    command += ["--procs", str(wanted.processes), "--limit", str(LIMIT_SECONDS), *more]
    variables = {**os.environ, **extensions()}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=variables) as process:
        running.add(process)
        said, complaints = process.communicate()
        running.discard(process)
    assert said, complaints
    printed = json.loads(said)
    assert printed["runs"], printed["not_run"]
    return {**printed["runs"][0], "environment": name}


@dataclass(frozen=True)
class Smokes:
    """Runs of `parc smoke`, a few at a time, begun before they are asked for."""

    folder: Path
    pool: ThreadPoolExecutor
    runs: dict[str, Future[dict[str, Any]]] = field(default_factory=dict)
    running: set[subprocess.Popen[str]] = field(default_factory=set)

    def begin(
        self, key: str, target: str, wanted: Wanted, name: str, *more: str
    ) -> Future[dict[str, Any]]:
        """What `parc smoke --json` will print of the one run, in the environment of that name."""
        folder = self.folder / str(len(self.runs))
        run = self.pool.submit(smoked, target, wanted, name, folder, self.running, *more)
        self.runs[key] = run
        return run

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self.runs[key].result()


@contextmanager
def begun(items: Sequence[pytest.Item], folder: Path) -> Iterator[Smokes]:
    """Every selected case of a module that says TARGET, NAME and CASES; ended with the block."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        smokes = Smokes(folder, pool)
        for item in items:
            if not isinstance(item, pytest.Function):
                continue
            skipped = any(mark.args and mark.args[0] for mark in item.iter_markers("skipif"))
            if item.name.startswith("test_layouts_train[") and not skipped:
                module, case = item.module, item.callspec.params["case"]
                smokes.begin(item.nodeid, module.TARGET, module.CASES[case], module.NAME)
        try:
            yield smokes
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(smokes.running):
                process.send_signal(signal.SIGTERM)


def check(run: dict[str, Any], wanted: Wanted) -> None:
    """It trained to the end with falling loss, and what was trained is the layout that was meant."""
    assert run["good"], "\n".join([run["verdict"], *run["log"]])
    assert {name: run["trained"][name] for name in wanted.trained} == wanted.trained
    RESULTS.train(run["environment"], Ran.said(run))


def check_recomputing(
    smokes: Smokes, target: str, name: str, layout: str, model: str = DENSE
) -> None:
    """Recomputation on and off: the same losses."""
    ways = ("none", "selective", "full")
    wanted = {
        way: Wanted(f"{layout}, recompute == {way}", 2, {"recompute": way}, model) for way in ways
    }
    runs = {way: smokes.begin(f"{target} {way}", target, wanted[way], name) for way in ways}
    for way in ways:
        check(runs[way].result(), wanted[way])
        losses = runs[way].result()["losses"]
        assert losses == pytest.approx(runs["none"].result()["losses"], abs=2e-3)

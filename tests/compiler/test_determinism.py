"""The same job gives the same plan in every process; OR-Tools is loaded by solving alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.compiled_examples import EXAMPLES
from tests.support.paths import ROOT

PLAN = """
import sys, json, parc
plans = parc.compile(parc.load(sys.argv[1]))
for plan in plans:
    fields = json.loads(plan.model_dump_json(exclude={"job"}))
    del fields["proof"]["seconds"]
    print(json.dumps(fields, sort_keys=True))
"""


def in_a_new_process(code: str, *arguments: str, seed: str = "0") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["llama3_70b", "mixtral_8x7b", "llama2_7b_pcie"])
def test_two_processes_make_the_same_plan(name: str) -> None:
    first, second = (
        in_a_new_process(PLAN, str(EXAMPLES[name]), seed=seed) for seed in ("1", "4242")
    )
    assert first == second
    assert all(json.loads(line)["proof"]["status"] == "OPTIMAL" for line in first.splitlines())


LOADED = """
import sys, {modules}
heavy = {{"ortools", "pandas"}} & {{name.split(".")[0] for name in sys.modules}}
print(sorted(heavy))
"""


@pytest.mark.parametrize(
    "modules",
    ["parc.compiler", "parc.compiler.search.solve, parc.compiler.search.explain", "parc.backends"],
)
def test_importing_loads_no_solver(modules: str) -> None:
    assert in_a_new_process(LOADED.format(modules=modules)).strip() == "[]"


PRICED = """
import sys, parc
job = parc.load(sys.argv[1])
estimate = parc.estimate(job, {"tp": 2}, "megatron")
assert estimate.layout.tp == 2
print("ortools" in sys.modules)
"""


def test_pricing_a_layout_without_a_pipeline_loads_no_solver() -> None:
    assert in_a_new_process(PRICED, str(EXAMPLES["llama3_8b"])).strip() == "False"

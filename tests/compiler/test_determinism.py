"""The same job gives the same plan and files in every process; OR-Tools is loaded by solving alone."""

from __future__ import annotations

import json

import pytest

from tests.support.compiled_examples import EXAMPLES
from tests.support.other_process import printed_by

PLAN = """
import sys, json, parc
from parc.api import emit, plan_targets
planned, emitted = emit(plan_targets(parc.load(sys.argv[1])))
for plan in planned.plans:
    fields = json.loads(plan.model_dump_json(exclude={"job"}))
    del fields["proof"]["seconds"]
    print(json.dumps(fields, sort_keys=True))
print(json.dumps(emitted.files))
"""


@pytest.mark.parametrize("name", ["llama3_70b", "mixtral_8x7b", "llama2_7b_pcie"])
def test_two_processes_make_the_same_plans_and_files(name: str) -> None:
    first, second = (printed_by(PLAN, str(EXAMPLES[name]), seed=seed) for seed in ("1", "4242"))
    assert first == second
    *plans, files = map(json.loads, first.splitlines())
    assert plans and all(plan["proof"]["status"] == "OPTIMAL" for plan in plans)
    assert len(files) > len(plans)


LOADED = """
import sys, {modules}
heavy = {{"ortools", "pandas"}} & {{name.split(".")[0] for name in sys.modules}}
print(sorted(heavy))
"""


@pytest.mark.parametrize(
    "modules",
    [
        "parc.compiler",
        "parc.compiler.search.cp_sat_search, parc.compiler.search.explain",
        "parc.backends",
    ],
)
def test_importing_loads_no_solver(modules: str) -> None:
    assert printed_by(LOADED.format(modules=modules)).strip() == "[]"


PRICED = """
import sys, parc
job = parc.load(sys.argv[1])
estimate = parc.estimate(job, {"tp": 2}, "megatron")
assert estimate.layout.tp == 2
print("ortools" in sys.modules)
"""


def test_pricing_a_layout_without_a_pipeline_loads_no_solver() -> None:
    assert printed_by(PRICED, str(EXAMPLES["llama3_8b"])).strip() == "False"

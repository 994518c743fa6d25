"""What a plan says of its own doubt, in the terms of a person."""

from __future__ import annotations

from typing import cast

from parc import api
from parc.compiler.plan import Doubt, Layout, OtherSettings, Plan, Rival
from parc.printing.choice_text import settings_lines
from parc.printing.plan_json import plan_json
from parc.printing.plan_text import plans_text
from parc.report.choice import choice
from tests.support.solver_and_sweep import job_of


def planned(doubt: Doubt | None) -> tuple[str, Plan]:
    """The text and the plan of a small job with that doubt."""
    found = api.plan_targets(
        job_of("maximize mfu\nrequire tp == 2; require pp == 1; require cp == 1")
    )
    plan = found.plans[0].model_copy(update={"doubt": doubt})
    return plans_text(api.Planned(found.job, (plan,))).plain, plan


RIVAL = Rival(layout=Layout(tp=4, pp=2, dp_shard=2), chance=0.25, worse=0.013, spread=0.06)
PLAIN = Rival(layout=Layout(dp_shard=16), chance=0.05, worse=0.2, spread=0.1)
DOUBT = Doubt(chance=0.3, chance_of_split=0.7, regret=0.0123, contenders=9, rivals=(RIVAL, PLAIN))


def test_the_doubt_names_the_other_ways_of_splitting() -> None:
    text, _ = planned(DOUBT)
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  doubt"))
    assert lines[first : first + 4] == [
        "  doubt   30 % chance that this is the fastest; expected loss against the true",
        "          best 1.2%",
        "          how the fastest layout splits the model: tp 2 (70 %), tp 4 ·",
        "          pp 2 (25 %), no splitting (5 %)",
    ]


def test_where_nothing_contends_no_doubt_is_said() -> None:
    sure = Doubt(chance=1.0, chance_of_split=1.0, regret=0.0, contenders=1, rivals=())
    assert all("  doubt" not in planned(doubt)[0] for doubt in (sure, None))


def test_json_has_the_doubt_with_layouts_in_words() -> None:
    _, plan = planned(DOUBT)
    assert plan_json(plan)["doubt"] == {
        "chance": 0.3,
        "chance_of_split": 0.7,
        "regret": 0.0123,
        "contenders": 9,
        "rivals": [
            {
                "layout": {"tp": 4, "pp": 2, "dp_shard": 2},
                "chance": 0.25,
                "worse": 0.013,
                "spread": 0.06,
            },
            {"layout": {"dp_shard": 16}, "chance": 0.05, "worse": 0.2, "spread": 0.1},
        ],
    }
    _, certain = planned(None)
    assert plan_json(certain)["doubt"] is None


def opened(**changes: object) -> Plan:
    """The plan of a small job as if grad_dtype had been left open and two other choices been priced."""
    _, plan = planned(None)
    slower = plan.estimate.model_copy(update={"mfu": plan.estimate.mfu * 0.98})
    others = (
        OtherSettings(settings={"grad_dtype": "bf16", "cuda_graph": False}, estimate=slower),
        OtherSettings(settings={"grad_dtype": "fp32", "cuda_graph": True}, why="no graph here"),
    )
    settings = {"grad_dtype": "fp32", "cuda_graph": False}
    return plan.model_copy(update={"settings": settings, "other_settings": others, **changes})


def test_the_settings_that_were_left_open_stand_with_what_others_bring() -> None:
    plan = opened()
    assert settings_lines(plan) == [
        "  with    grad_dtype fp32, cuda_graph false",
        "          grad_dtype bf16: 2.0% worse in mfu",
        "          cuda_graph true: no graph here",
    ]
    assert choice(plan).startswith(
        "Of the settings that the job leaves open: grad_dtype fp32, cuda"
    )
    assert settings_lines(opened(settings={}, other_settings=())) == []


def test_json_has_the_settings_that_were_left_open() -> None:
    found = plan_json(opened())
    assert found["settings"] == {"grad_dtype": "fp32", "cuda_graph": False}
    slower, refused = cast(list[dict[str, object]], found["other_settings"])
    assert slower["settings"] == {"grad_dtype": "bf16", "cuda_graph": False} and "mfu" in slower
    assert refused == {
        "settings": {"grad_dtype": "fp32", "cuda_graph": True},
        "why": "no graph here",
    }
    assert "settings" not in plan_json(planned(None)[1])

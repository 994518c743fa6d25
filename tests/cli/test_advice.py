"""What a plan advises where its choice is not settled: what may be better, why it stays, trials that tell."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

import parc
from parc import api
from parc.__main__ import parser
from parc.compiler.plan import LARGE_REGRET, Doubt, Layout, Plan, Rival, Simulated
from parc.printing.advice_text import FOLDER, TRIALS, advice, advice_lines, trials_command
from parc.printing.plan_json import plan_json
from parc.printing.plan_text import plans_text
from parc.report.html import report_html
from parc.report.markdown import quoted, report_markdown
from tests.support.command_line import Parc
from tests.support.paths import ROOT
from tests.support.solver_and_sweep import job_of

RIVAL = Rival(layout=Layout(tp=4, pp=2, dp_shard=2), chance=0.5, worse=0.013, spread=0.05)
DOUBT = Doubt(chance=0.1, chance_of_split=0.2, regret=0.03, contenders=9, rivals=(RIVAL,))


@pytest.fixture(scope="module")
def small() -> Plan:
    job = job_of("maximize mfu\nrequire tp == 2; require pp == 1; require cp == 1")
    return api.plan_targets(job).plans[0]


def doubted(plan: Plan, **changes: object) -> Plan:
    return plan.model_copy(update={"doubt": DOUBT.model_copy(update=changes)})


def test_readmes_example_says_what_may_be_better_and_what_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    planned = api.plan_targets(parc.load("examples/llama3_70b.par"), ["megatron"])
    doubt = planned.plans[0].doubt
    assert doubt is not None and doubt.rivals[0].chance > doubt.chance_of_split
    head, _, _ = plans_text(planned).plain.partition("megatron, stage 1")
    assert "Run megatron's layout (tp 4 · pp 8), but tp 4 · pp 4 · cp 2 may be" in head
    assert "parc trials examples/llama3_70b.par -n 3 -o trials/ --target megatron\n" in head


def test_a_settled_choice_is_not_advised_on(small: Plan) -> None:
    settled = [None, DOUBT.model_copy(update={"chance_of_split": 0.5, "regret": LARGE_REGRET})]
    for doubt in settled:
        plan = small.model_copy(update={"doubt": doubt})
        planned = api.Planned(plan.job, (plan,))
        assert not advice_lines(plan) and "advice" not in plan_json(plan)
        shown = plans_text(planned).plain + report_html(planned) + report_markdown(planned)
        assert "parc trials" not in shown


def test_a_more_probable_rival_stands_beside_the_reason_of_the_choice(small: Plan) -> None:
    assert advice(doubted(small)) == (
        "Run megatron's layout (tp 2), but tp 4 · pp 2 may be better: 50 % chance that the best layout "
        "splits the model so, 20 % that it splits it as the chosen one. The choice stays because it is "
        "predicted 1.3% better, which is less than the model's error between the two (±7 %). The expected "
        "loss against the true best is 3.0%."
    )


@pytest.mark.parametrize(
    ("worse", "spread", "said"),
    [
        (
            0.02,
            0.01,
            "it is predicted 2.0% better, beside the model's error between the two (±1 %)",
        ),
        (
            -0.004,
            0.05,
            "as the preferred, simpler or roomier one, though predicted 0.4% worse, which is less",
        ),
        (
            0.0,
            0.05,
            "as the preferred, simpler or roomier one: both are predicted as good, within the model's",
        ),
    ],
)
def test_the_difference_is_told_beside_its_error(
    small: Plan, worse: float, spread: float, said: str
) -> None:
    rival = RIVAL.model_copy(update={"worse": worse, "spread": spread})
    assert said in advice(doubted(small, rivals=(rival,)))


def test_a_choice_of_the_simulator_names_it(small: Plan) -> None:
    rival = RIVAL.model_copy(update={"worse": -0.004})
    found = Simulated(step_seconds=1.0, instead=rival.layout, instead_seconds=1.1)
    plan = doubted(small, rivals=(rival,)).model_copy(update={"simulated": found})
    assert "The choice stays by its simulated passes, though predicted 0.4% worse" in advice(plan)


def test_a_large_regret_without_rivals_is_told(small: Plan) -> None:
    found = advice(doubted(small, rivals=(), regret=0.07))
    assert found.endswith(
        "but another layout may be better. The expected loss against the true best is 7.0%."
    )


def test_the_report_and_json_have_the_words_and_a_command_without_a_folder(small: Plan) -> None:
    plan = doubted(small)
    plan = plan.model_copy(
        update={"job": plan.job.model_copy(update={"path": "/jobs/some here/job.par"})}
    )
    planned = api.Planned(plan.job, (plan,))
    command = "parc trials job.par -n 3 -o trials/"
    assert plan_json(plan)["advice"] == {"text": advice(plan), "command": command}
    assert f"<code>{command}</code>" in report_html(planned)
    assert f"in the job's folder: `{command}`" in report_markdown(planned)
    assert f"    {command.replace('job.par', repr('/jobs/some here/job.par'))}" in advice_lines(
        plan
    )


@pytest.mark.parametrize("path", ["job.par", "-odd.par", "a b/it's.par", "jobs/$HOME.par"])
def test_the_command_is_what_parc_trials_takes(path: str, small: Plan) -> None:
    given = ("train.global_batch=64", "goal.within = 0%")
    job = small.job.model_copy(
        update={"path": path, "overrides": given, "targets": small.job.targets * 2, "stage": "long"}
    )
    command = trials_command(small.model_copy(update={"job": job}))
    program, name, *words = shlex.split(command)
    assert (program, name) == ("parc", "trials")
    found = parser("trials").parse_args([name, *words])
    assert found.job.removeprefix("./") == path and found.target == "megatron"
    assert (found.count, found.output, found.stage) == (TRIALS, Path(FOLDER), "long")
    assert tuple(found.set) == given


def test_the_printed_command_runs(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Doubt.__module__], "LARGE_REGRET", 0.0)
    batch = ("--set", "train.global_batch=32")
    best = json.loads(run("plan", "job.par", "--json").out)["best"]
    for whole in ((), ("-v",)):
        text = run("plan", "job.par", *whole, *batch).out
        (command,) = re.findall(r"parc (trials .*)", text)
        words = shlex.split(command)
        assert words[-4:] == ["--target", best, *batch]
    assert run(*words).code == 0 and Path("trials/run.sh").exists()


def test_code_with_backticks_is_quoted() -> None:
    assert [quoted("a"), quoted("a`b"), quoted("``")] == ["`a`", "`` a`b ``", "``` `` ```"]

"""The page as a text: its numbers are the plan's, its strings are escaped, and it needs nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest

from parc.api import plan_targets
from parc.backends import BACKENDS
from parc.codes import SLOW_TARGET
from parc.compiler.plan import Layout
from parc.dsl.check import loads
from parc.printing.plan_json import lock, planned_json
from parc.printing.plan_text import error_bar
from parc.printing.words.layouts import layout_text
from parc.report.choice import fastest
from parc.report.figures.common import SIDE, Bar, Scale, logarithmic_ticks, ticks
from parc.report.figures.grid import colourings, grid
from parc.report.figures.memory_chart import memory
from parc.report.figures.step import step
from parc.report.figures.targets import targets
from parc.report.html import OURS, report_html
from parc.report.markdown import report_markdown
from tests.support.paths import ROOT
from tests.support.reports import hostile_page, page, read, solved
from tests.support.solver_and_sweep import example

GIB = 2**30
EXAMPLES = ("llama3_70b", "deepseek_v3", "gpt_125m")


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_are_those_of_plan_json(name: str) -> None:
    locked = json.loads(lock(solved(name), {}))
    found = read(page(name))
    assert {**found.data["planned"], "files": {}} == locked
    for number, plan in enumerate(locked["plans"]):
        highest = 1.15 * max(
            plan["memory_bytes"], solved(name).plans[number].estimate.capacity_bytes
        )
        sizes = [sum(stage["memory"].values()) for stage in plan["stages"]]
        bars = [
            found.rectangles(f"memory-{number}", each["class"] or "")
            for each in found.charts[f"memory-{number}"]
            if (each["class"] or "").startswith("bars")
        ]
        for rank, size in enumerate(sizes):
            drawn = sum(term[rank][3] for term in bars)
            assert drawn / SIDE == pytest.approx(size / highest, abs=2 / SIDE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_bars_of_a_step_are_its_parts(name: str) -> None:
    for plan in solved(name).plans:
        whole, *parts = step(plan.estimate)
        assert whole.chosen and whole.low and whole.low < whole.share < 100.0 == whole.high
        shares = {bar.text: bar.share / whole.share for bar in parts}
        took = {name: value for name, value in plan.estimate.time.items() if value}
        assert shares.keys() == took.keys()
        for name, value in took.items():
            assert shares[name] == pytest.approx(value / plan.estimate.step_seconds)
        assert [bar.share for bar in parts] == sorted(shares_of(parts), reverse=True)
        assert all(bar.note for bar in parts), "each part is explained"


def shares_of(bars: list[Bar]) -> list[float]:
    return [bar.share for bar in bars]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_chosen_layout_is_in_its_landscape(name: str) -> None:
    found = read(page(name))
    for number, plan in enumerate(solved(name).plans):
        chart = f"landscape-{number}"
        tips = found.data["figures"][chart]
        ((x, y),) = found.pieces(chart, "dots chosen")
        across, up = scale(tips["x"]), scale(tips["y"], logarithmic=True)
        assert across.at(plan.estimate.memory_bytes / GIB) == pytest.approx(x, abs=1)
        assert up.below(plan.estimate.step_seconds) == pytest.approx(y, abs=1)
        frontier = found.pieces(chart, "dots ink")
        assert all(one[0] <= two[0] and one[1] <= two[1] for one, two in pairwise(frontier))
        for x, y in found.pieces(chart, "dots s1"):
            assert max(top for left, top in frontier if left <= x) >= y
        assert found.pieces(chart, "dots ring")[0][1] == frontier[-1][1]
        for names, places in zip(tips["names"], tips["sets"], strict=True):
            look = {"does not fit": "dim", "breaks a condition": "s5", "allowed": "s1"}.get(names)
            if look:
                assert len(places) == len(found.pieces(chart, f"dots {look}"))
        ours = " · ".join(tips["words"][place] for place in tips["sets"][-1][0])
        assert ours == layout_text(plan.layout)


def scale(axis: dict[str, float], logarithmic: bool = False) -> Scale:
    return Scale(axis["low"], axis["high"], logarithmic)


def test_the_first_lines_say_what_to_run_how_fast_how_sure_and_whether_it_fits() -> None:
    text = read(page("llama3_70b")).text
    plan = solved("llama3_70b").plans[0]
    first = text[: text.index("Targets side by side")]
    estimate = plan.estimate
    for wanted in (
        f"Run {plan.target} on 64 GPUs",
        f"{estimate.step_seconds:.1f} s a step",
        f"{estimate.tokens_per_second_per_gpu:,.0f} tokens/s/GPU",
        f"{estimate.tflops_per_gpu:,.0f} TFLOP/s/GPU",
        "of bf16's 989 TFLOP/s",
        error_bar(estimate).replace("%", "\u00a0%"),
        f"{estimate.memory_bytes / GIB:.1f} of {estimate.ceiling_bytes / GIB:.1f} GiB",
        "risk of running out of memory",
        "parc compile llama3_70b.par -o out",
    ):
        assert wanted in first, wanted


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("maximize mfu", "The chosen layout is the fastest of them."),
        ("minimize memory", "The goal is to minimize memory, not the time of a step."),
    ],
)
def test_why_the_chosen_layout_is_not_the_fastest(goal: str, wanted: str) -> None:
    text = (ROOT / "examples" / "gpt_125m.par").read_text()
    changed = re.sub(r"m\w+imize \w+", goal, text)
    assert goal in changed
    options = {name: backend.target.options for name, backend in BACKENDS.items()}
    found = plan_targets(loads(changed, "job.par", (), options), ["megatron"])
    assert wanted in unescape(report_html(found))


def test_a_simpler_layout_beside_the_fastest_has_its_reason() -> None:
    plan = next(plan for plan in solved("llama3_70b").plans)
    other = plan.estimate.model_copy(update={"step_seconds": plan.estimate.step_seconds / 1.005})
    simpler = plan.model_copy(update={"best": other})
    said = fastest(simpler, other.step_seconds)
    assert said.startswith(
        "The fastest is predicted 0.5 % faster than the chosen one. Simpler than"
    )
    assert "within model noise" in said


def test_settings_worth_naming_and_slow_targets_are_told() -> None:
    found = plan_targets(example("llama3_405b"), ["megatron", "deepspeed"], fewer=True)
    best, slow = found.plans
    assert best.worthwhile and slow.target == "deepspeed"
    html, text = unescape(report_html(found)), report_markdown(found)
    for setting in best.worthwhile:
        assert f"`{setting.path[-1]} = " in html and f"{setting.gain:.0%} faster" in html
        assert f"{setting.gain:.0%} faster" in text
    (told,) = [each for each in found.warnings_about(slow) if each.code == SLOW_TARGET]
    assert told.message in html and SLOW_TARGET not in text
    assert told not in found.warnings_about(best)


def test_every_chart_has_its_place_and_every_place_its_tips() -> None:
    found = read(page("llama3_70b"))
    assert found.charts.keys() == found.data["figures"].keys() and len(found.charts) == 3 * 4
    for key, tips in found.data["figures"].items():
        drawn = {each["class"] or "" for each in found.charts[key]}
        assert tips["kind"] in ("columns", "spans", "points", "grid") and len(drawn) > 1


def test_targets_stand_side_by_side_where_there_are_several() -> None:
    plans = solved("llama3_70b").plans
    bars = targets(plans)
    assert [bar.text for bar in bars] == [plan.target for plan in plans]
    best = plans[0].estimate
    assert bars[0].value.startswith(f"MFU {100 * best.mfu:.1f} %") and bars[0].chosen
    assert layout_text(plans[1].layout) in bars[1].note
    most = max(100 * plan.estimate.mfu_band[1] for plan in plans)
    assert bars[0].share == pytest.approx(100 * 100 * best.mfu / most)
    assert "Targets side by side" in read(page("llama3_70b")).text
    assert "Targets side by side" not in read(page("deepseek_v3")).text


def test_passes_of_a_rank_follow_each_other() -> None:
    found = read(page("llama3_70b"))
    kinds = ("bars s1", "bars s0", "bars s3", "bars hole")
    tips = found.data["figures"]["timeline-0"]
    for kind, said in zip(kinds, tips["sets"], strict=True):
        assert len(said.split(";")) == len(found.rectangles("timeline-0", kind))
    for rank in range(4):
        spans = sorted(
            (left, left + width)
            for kind in kinds
            for left, top, width, _ in found.rectangles("timeline-0", kind)
            if top // 10 == rank
        )
        assert len(spans) > 50
        assert all(abs(two[0] - one[1]) <= 1 for one, two in pairwise(spans))


@pytest.mark.parametrize("name", EXAMPLES)
def test_gpus_of_a_group_are_as_many_as_its_degree(name: str) -> None:
    data = read(page(name)).data
    layout = data["planned"]["plans"][0]["layout"]
    tips = data["figures"]["grid-0"]
    for each in tips["colourings"]:
        block, stride = each["block"], each["stride"]
        ranks = [rank // block * stride + rank % stride for rank in range(tips["gpus"])]
        assert len(ranks) == data["planned"]["plans"][0]["gpus"]
        counts = (
            {ranks.count(group) for group in set(ranks)} if len(ranks) < 3000 else {each["size"]}
        )
        assert counts == {each["size"]} and len(set(ranks)) == each["groups"]
        wanted = {
            "pp": layout["pp"],
            "dp": len(ranks) // layout["dp_replicate"] // layout["dp_shard"],
        }
        wanted |= {degree: len(ranks) // layout[degree] for degree in ("tp", "cp", "ep")}
        assert each["groups"] == wanted[each["name"]]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_cell_has_the_colour_of_its_group(name: str) -> None:
    layout = solved(name).plans[0].layout
    chart = grid(layout, 8)
    for each, (_, _, paths) in zip(colourings(layout), chart.colourings, strict=True):
        seen: dict[tuple[int, int], str] = {}
        for path in paths:
            for piece in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)", path.text):
                left, top, width, height = map(int, piece)
                cells = {
                    (x, y) for x in range(left, left + width) for y in range(top, top + height)
                }
                assert not cells & seen.keys()
                seen |= dict.fromkeys(cells, path.name)
        assert len(seen) == layout.gpus
        for (x, y), color in seen.items():
            rank = (y // 9 * chart.wide + x) * 8 + y % 9
            group = rank // each.block * each.stride + rank % each.stride
            assert color == f"bars g{group % 8}"


def test_a_cluster_of_many_nodes_is_drawn_in_few_rectangles() -> None:
    layout = Layout(tp=8, pp=16, dp_shard=1024, zero=1, nodes=16_384)
    chart = grid(layout, 8)
    texts = [path.text for _, _, paths in chart.colourings for path in paths]
    assert sum(map(len, texts)) < 100_000
    assert [name for name, _, _ in chart.colourings][0] == "pp"


def test_ticks_are_round_and_no_more_than_asked_for() -> None:
    for high in (0.0137, 0.5, 7, 83, 190, 4321):
        found = ticks(Scale(0, high), 6)
        assert 2 <= len(found) <= 7 and found[0].text.startswith("0")
        steps = {round(two.place - one.place, 1) for one, two in pairwise(found)}
        assert max(steps) - min(steps) < 0.11
    texts = [tick.text for tick in logarithmic_ticks(Scale(0.7, 90, logarithmic=True), 0.06)]
    assert texts[:3] == ["0.7", "1", "1.5"] and "10" in texts


def test_what_binds_is_marked_in_the_source() -> None:
    text = page("llama3_70b")
    marked = re.findall(r'<li class="binds">(.*?)</li>', text, re.DOTALL)
    assert len(marked) == 2 and "megatron: 4% better without it" in marked[0]
    assert "memory" in marked[0] and "92%" in marked[0]


def test_strings_of_a_job_stay_strings(tmp_path: Path) -> None:
    found = read(hostile_page(tmp_path))
    assert found.data["planned"]["job"]["name"].startswith("<")
    assert len(found.named("script")) == 2 and not found.named("img") and not found.named("b")
    assert "{{ 7*7 }}" in found.text and "<script>alert(1)" in found.text
    assert not any(name.startswith("on") for _, given in found.elements for name in given)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_is_small_and_names_no_other_place(name: str) -> None:
    text = page(name)
    assert text.startswith(OURS) and len(text.encode()) < 500_000
    for _, given in read(text).elements:
        assert not given.keys() & {"src", "href", "action", "srcset"}
    assert "http://" not in text and "https://" not in text


def test_the_policy_allows_its_own_script_alone() -> None:
    found = read(page("gpt_125m"))
    (policy,) = (each["content"] for each in found.named("meta") if "http-equiv" in each)
    (program,) = re.findall(r"<script>(.*?)</script>", page("gpt_125m"), re.DOTALL)
    digest = b64encode(hashlib.sha256(program.encode()).digest()).decode()
    assert policy is not None and policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}';" in policy


def test_untimed_pages_of_one_job_are_equal() -> None:
    planned = solved("gpt_125m")
    first = report_html(planned, timed=False)
    assert first == report_html(planned, timed=False) and "took" not in read(first).text
    assert "The search and its proof took" in read(page("gpt_125m")).text
    assert planned_json(planned)["best"] == "megatron"


@pytest.mark.parametrize("name", ["gpt_125m", "llama3_70b"])
def test_what_the_search_priced_draws_the_same_report(name: str) -> None:
    job = example(name)
    kept, priced_again = plan_targets(job, keep=True), plan_targets(job)
    assert kept.whole.keys() == {plan.target for plan in kept.plans} and not priced_again.whole
    assert report_html(kept, timed=False) == report_html(priced_again, timed=False)


def test_terms_of_memory_that_weigh_the_same_are_in_the_order_of_their_names() -> None:
    """The order of a set of strings is another in each process, and a report's bytes are compared."""
    estimate = solved("gpt_125m").plans[0].estimate
    level = dict.fromkeys(("weights", "logits", "buffers", "gradients"), 2**30)
    stages = [stage.model_copy(update={"memory": level}) for stage in estimate.stages]
    drawn = memory(estimate.model_copy(update={"stages": stages})).legend
    assert [each.text for each in drawn] == sorted(level)

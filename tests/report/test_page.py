"""The page as a text: its numbers are the plan's, its strings are escaped, and it needs nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode, b64encode
from html import unescape
from itertools import pairwise
from pathlib import Path
from zlib import decompress

import pytest

from parc.api import plan_targets
from parc.codes import SLOW_TARGET
from parc.dsl.diagnostics import JobError
from parc.printing.plan_json import lock, planned_json
from parc.report import plotting
from parc.report.figures.memory import memory
from parc.report.html import OURS, report_html
from parc.report.markdown import report_markdown
from tests.support.reports import hostile_page, page, read, solved
from tests.support.solver_and_sweep import example

GIB = 2**30
EXAMPLES = ("llama3_70b", "deepseek_v3", "gpt_125m")


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_are_those_of_plan_json(name: str) -> None:
    locked = json.loads(lock(solved(name), {}))
    data = read(page(name)).data
    assert {**data["planned"], "files": {}} == locked
    for number, plan in enumerate(locked["plans"]):
        memory = data["figures"][f"memory-{number}"]["data"]
        terms = {each["name"].replace(" ", "_"): each["y"] for each in memory[:-1]}
        for rank, stage in enumerate(plan["stages"]):
            for term, size in stage["memory"].items():
                assert terms[term][rank] == pytest.approx(size / GIB, rel=1e-5)
            assert memory[-1]["y"][rank] == pytest.approx(
                sum(stage["memory"].values()) / GIB, rel=1e-5
            )
        bars = data["figures"][f"step-{number}"]["data"][0]
        shown = dict(zip(bars["y"], bars["x"], strict=True))
        assert shown.pop("step") == plan["step_seconds"]
        assert shown == plan["time"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_chosen_layout_is_in_its_landscape(name: str) -> None:
    data = read(page(name)).data
    for number, plan in enumerate(data["planned"]["plans"]):
        traces = {each["name"]: each for each in data["figures"][f"landscape-{number}"]["data"]}
        assert traces["chosen"]["y"] == [plan["step_seconds"]]
        assert traces["chosen"]["x"] == [pytest.approx(plan["memory_bytes"] / GIB, rel=1e-5)]
        frontier = traces["frontier"]
        assert all(one < two for one, two in pairwise(frontier["x"]))
        assert all(one > two for one, two in pairwise(frontier["y"]))
        for x, y in zip(traces["allowed"]["x"], traces["allowed"]["y"], strict=True):
            assert min(t for m, t in zip(frontier["x"], frontier["y"], strict=True) if m <= x) <= y
        assert traces["fastest"]["y"][0] == frontier["y"][-1]


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


def test_every_figure_has_its_place_and_every_place_its_figure() -> None:
    found = read(page("llama3_70b"))
    places = {each["data-figure"] for each in found.named("div") if "data-figure" in each}
    assert places == found.data["figures"].keys() and len(places) == 1 + 3 * 5


def test_targets_stand_side_by_side_where_there_are_several() -> None:
    bars = read(page("llama3_70b")).data["figures"]["targets"]["data"][0]
    plans = solved("llama3_70b").plans
    assert list(reversed(bars["y"])) == [plan.target for plan in plans]
    assert bars["x"][-1] == pytest.approx(100 * plans[0].estimate.mfu, rel=1e-5)
    assert "targets" not in read(page("deepseek_v3")).data["figures"]


def test_passes_of_a_rank_follow_each_other() -> None:
    figures = read(page("llama3_70b")).data["figures"]
    for rank in range(4):
        spans = sorted(
            (base, base + x)
            for trace in figures["timeline-0"]["data"]
            for y, base, x in zip(trace["y"], trace["base"], trace["x"], strict=True)
            if y == rank
        )
        assert len(spans) > 50
        assert all(two[0] == pytest.approx(one[1], rel=1e-4) for one, two in pairwise(spans))


@pytest.mark.parametrize("name", EXAMPLES)
def test_gpus_of_a_group_are_as_many_as_its_degree(name: str) -> None:
    data = read(page(name)).data
    layout = data["planned"]["plans"][0]["layout"]
    meta = data["figures"]["grid-0"]["meta"]
    for each in meta["colourings"]:
        block, stride = each["block"], each["stride"]
        ranks = [rank // block * stride + rank % stride for rank in range(meta["gpus"])]
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


def test_what_binds_is_marked_in_the_source() -> None:
    text = page("llama3_70b")
    marked = re.findall(r'<li class="binds">(.*?)</li>', text, re.DOTALL)
    assert len(marked) == 2 and "megatron: 4% better without it" in marked[0]
    assert "memory" in marked[0] and "92%" in marked[0]


def test_strings_of_a_job_stay_strings(tmp_path: Path) -> None:
    found = read(hostile_page(tmp_path))
    assert found.data["planned"]["job"]["name"].startswith("<")
    assert len(found.named("script")) == 3 and not found.named("img") and not found.named("b")
    assert "{{ 7*7 }}" in found.text and "<script>alert(1)" in found.text
    assert not any(name.startswith("on") for _, given in found.elements for name in given)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_is_small_and_names_no_other_place(name: str) -> None:
    text = page(name)
    assert text.startswith(OURS) and len(text.encode()) < 3e6
    for _, given in read(text).elements:
        assert not given.keys() & {"src", "href", "action", "srcset"}
    outside = text.replace(plotting.plotly_packed().packed, "")
    assert "http://" not in outside and "https://" not in outside


def test_the_policy_allows_the_two_scripts_alone() -> None:
    found = read(page("gpt_125m"))
    (policy,) = (each["content"] for each in found.named("meta") if "http-equiv" in each)
    program = re.findall(r"<script>(.*?)</script>", page("gpt_125m"), re.DOTALL)
    packed = b64decode(plotting.plotly_packed().packed)
    assert packed[:2] == b"\x78\x01", "a header that says nothing of the Python that wrote it"
    plotly = decompress(packed)
    digests = [hashlib.sha256(each).digest() for each in (program[0].encode(), plotly)]
    assert policy is not None and policy.startswith("default-src 'none'")
    wanted = " ".join(f"'sha256-{b64encode(each).decode()}'" for each in digests)
    assert f"script-src {wanted};" in policy


def test_untimed_pages_of_one_job_are_equal() -> None:
    planned = solved("gpt_125m")
    first = report_html(planned, timed=False)
    assert first == report_html(planned, timed=False) and "took" not in read(first).text
    assert "The search and its proof took" in read(page("gpt_125m")).text
    assert planned_json(planned)["best"] == "megatron"


def test_without_plotly_its_installation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    plotting.plotly_packed.cache_clear()
    monkeypatch.setattr("parc.report.plotting.resources.files", missing)
    with pytest.raises(JobError) as error:
        report_html(solved("gpt_125m"))
    (complaint,) = error.value.diagnostics
    assert complaint.code == "PAR190" and "pip install plotly" in (complaint.help or "")
    plotting.plotly_packed.cache_clear()


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
    drawn = memory(estimate.model_copy(update={"stages": stages}))["data"]
    assert [each["name"] for each in drawn[:-1]] == sorted(level)

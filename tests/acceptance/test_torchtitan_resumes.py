"""An elastic torchtitan job goes on under another layout as if it had not changed; others are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.torchtitan.options import Options
from parc.backends.torchtitan.smoke import ON_CPU
from parc.compiler.plan import Layout, Plan
from parc.dsl.settings import Data
from parc.saved_checkpoints import checkpoint_side
from tests.acceptance.support.hugging_face import tiny
from tests.acceptance.test_torchtitan_stops import same
from tests.acceptance.test_torchtitan_trains import BATCH, SEQUENCE, Run, Version, trained
from tests.support.sample_plans import sample_plan, train_of

STEPS, SAVED = 12, 6
LAYERS = tiny("llama3_8b").layers
TWO = Layout(dp_shard=2, zero=3, microbatches=4)
FOUR = Layout(dp_shard=4, zero=2, microbatches=2)
#: Before and after: more data-parallel ranks, fewer of them, and as many beside tp.
CHANGES: dict[str, tuple[Version, Layout, Layout]] = {
    "0.2.2 more": ("0.2.2", TWO, FOUR),
    "0.2.2 fewer": ("0.2.2", FOUR, TWO),
    "0.2.2 tp": ("0.2.2", TWO, TWO.model_copy(update={"tp": 2})),
    "0.2.0 fewer": ("0.2.0", FOUR, TWO),
    "0.3 more": ("0.3", TWO, FOUR),
}


def plan_of(version: Version, layout: Layout, elastic: bool = True) -> Plan:
    extra = dict(ON_CPU[version]) | {"metrics.disable_color_printing": True}
    train = train_of(
        seq_len=SEQUENCE,
        global_batch=BATCH,
        tokens=None,
        steps=STEPS,
        warmup=1,
        schedule="constant",
        elastic=elastic,
    )
    options = Options(version=version, data=Data(), log_interval=1, extra=extra)
    return sample_plan("torchtitan", options, model=tiny("llama3_8b"), layout=layout, train=train)


def half(version: Version, layout: Layout, folder: Path) -> Run:
    """The first steps, and their checkpoint."""
    return trained(plan_of(version, layout), version, folder, "--training.steps", str(SAVED))


@pytest.mark.parametrize("name", CHANGES)
def test_it_goes_on_in_another_layout_as_if_it_had_not_changed(name: str, tmp_path: Path) -> None:
    version, before, after = CHANGES[name]
    # The layout decides the first weights, which are drawn shard by shard.
    unbroken = trained(plan_of(version, before), version, tmp_path / "unbroken")
    first = half(version, before, tmp_path / "run")
    assert len(first.steps) == SAVED
    read = checkpoint_side(str(tmp_path / "run" / "outputs"))
    assert (read.saved.framework, read.saved.step, read.saved.ranks) == (
        "torchtitan",
        SAVED,
        before.gpus,
    )
    assert read.saved.layout == {"dp": before.dp} and read.sizes == {"layers": LAYERS}
    (tmp_path / "run" / "log").unlink()
    found = trained(plan_of(version, after), version, tmp_path / "run")
    moved = f"another number of data-parallel ranks saved step {SAVED}" in found.log
    assert moved == (before.dp != after.dp)
    same(found, unbroken, SAVED + 1)


def test_a_job_that_is_not_elastic_is_refused_by_torchtitan(tmp_path: Path) -> None:
    """Why `parc reshape` says so; with the option that it names, the data begin anew."""
    half("0.2.2", FOUR, tmp_path / "run")
    shutil.copytree(tmp_path / "run" / "outputs", tmp_path / "anew" / "outputs")
    plan = plan_of("0.2.2", TWO, elastic=False)
    words = next(row.stops for row in BACKENDS["torchtitan"].resume.rows if row.stops)
    with pytest.raises(AssertionError, match=words.split(",")[0]):
        trained(plan, "0.2.2", tmp_path / "run")
    option = "--checkpoint.exclude_from_loading", "dataloader"
    anew = trained(plan, "0.2.2", tmp_path / "anew", *option)
    assert len(anew.steps) == STEPS - SAVED

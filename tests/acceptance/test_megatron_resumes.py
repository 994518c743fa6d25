"""An elastic Megatron-LM job goes on under another layout as if it had not changed; others are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.resume import RESHARDABLE
from tests.acceptance.support.feature_table import RESULTS, Ran
from tests.acceptance.support.megatron_runs import (
    CLOSE,
    TARGET,
    checkout,
    last_saved,
    started,
    trained,
)
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS
from tests.acceptance.support.stages import Stage, compiled

STEPS, SAVED = 12, 6
JOB = """
model tiny {{
  layers = 4; hidden = 64; heads = 4; kv_heads = 2; ffn = 128; vocab = 256; {experts}
}}
cluster some from std.dgx_h100 {{ nodes = 1; gpus_per_node = {gpus}; cpu_cores = 2 }}
train {{
  seq_len = 64; global_batch = 8; steps = 12; warmup = 2; learning_rate = 3e-3; elastic = {elastic}
}}
goal {{ {conditions} }}
{target}
"""
EXPERTS = "experts = 4; topk = 2; expert_ffn = 64; aux_loss = 0"


@dataclass(frozen=True)
class Layout:
    gpus: int
    conditions: str
    experts: str = ""


ONE = Layout(1, "require micro_batch == 4")
REPLICAS = Layout(2, "require dp == 2")
TENSOR = Layout(2, "require tp == 2")
PIPELINE = Layout(2, "require pp == 2; require vpp == 1")
CHANGES = {
    "fewer replicas": (REPLICAS, ONE),
    "no tensor parallelism": (TENSOR, ONE),
    "no pipeline": (PIPELINE, ONE),
    "an interleaved pipeline of tensor ranks": (
        TENSOR,
        Layout(2, "require pp == 2; require vpp == 2"),
    ),
    "longer parts of sequences": (Layout(2, "require cp == 2"), ONE),
    "experts of other ranks": (
        Layout(2, "require tp == 1; require ep == 2", EXPERTS),
        Layout(2, "require tp == 2; require ep == 1; require etp == 1", EXPERTS),
    ),
}


def made(layout: Layout, folder: Path, elastic: bool = True) -> Stage:
    given = {**vars(layout), "elastic": str(elastic).lower(), "target": TARGET}
    return compiled(JOB.format(**given), folder)["one"]


def half(script: Path, root: Path, *options: str) -> None:
    """The first steps, and their checkpoint."""
    log, end = root.parent / "first.log", ("--exit-interval", str(SAVED))
    assert max(trained(script, root, log, *end, *options).losses) == SAVED
    assert last_saved(root) == SAVED


def unbroken(script: Path, folder: Path) -> dict[int, float]:
    folder.mkdir()
    return trained(script, checkout(folder), folder / "log").losses


@pytest.mark.parametrize("name", CHANGES)
def test_it_goes_on_in_another_layout_as_if_it_had_not_changed(name: str, tmp_path: Path) -> None:
    first, second = CHANGES[name]
    before, after = made(first, tmp_path / "1"), made(second, tmp_path / "2")
    wanted = unbroken(before.script, tmp_path / "unbroken")
    root = checkout(tmp_path)
    half(before.script, root)
    found = trained(after.script, root, tmp_path / "second.log").losses
    assert list(found) == list(range(SAVED + 1, STEPS + 1))
    assert found == pytest.approx({step: wanted[step] for step in found}, rel=CLOSE)
    for stage in (before, after):
        RESULTS.train("megatron", Ran.of(stage.plan))


#: What a start of another layout says of the checkpoint of a job that is not elastic: words of its row.
REFUSED: dict[str, tuple[Layout, Layout, str]] = {
    "buffers of tensor ranks": (
        Layout(2, "require tp == 2; require zero == 1"),
        Layout(2, "require dp == 2; require zero == 1"),
        "(TP, PP) mismatch after resume",
    ),
    "one GPU": (
        Layout(2, "require dp == 2; require zero == 1"),
        Layout(1, "require zero == 0"),
        "from model not in state dict",
    ),
    "one GPU that had divided experts": (
        Layout(2, "require tp == 1; require ep == 2; require zero == 1", EXPERTS),
        Layout(1, "require zero == 1", EXPERTS),
        "KeyError: 'optimizer'",
    ),
    "divided experts that one GPU had": (
        Layout(1, "require zero == 1", EXPERTS),
        Layout(2, "require tp == 1; require ep == 2; require zero == 1", EXPERTS),
        "entries in state dict",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_job_that_is_not_elastic_is_refused_before_the_first_step(
    name: str, tmp_path: Path
) -> None:
    """Why `parc reshape` says so. The command that it names, one step more that saves anew, helps."""
    first, second, words = REFUSED[name]
    before, after = (
        made(layout, tmp_path / name, elastic=False).script
        for layout, name in ((first, "1"), (second, "2"))
    )
    root = checkout(tmp_path)
    half(before, root, *([RESHARDABLE] if first.experts else ()))
    with started(after, root, tmp_path / "refused.log") as (process, refused):
        assert process.wait(LIMIT_SECONDS) != 0
    row = next(each for each in BACKENDS["megatron"].resume.rows if words in each.stops)
    assert words in refused.text and not refused.losses, refused.text[-4000:]
    for command in (each.text for each in row.cures if each.kind == "command"):
        options = command.split("> ")[1].split()
        anew = trained(before, root, tmp_path / "anew.log", *options).losses
        losses = anew | trained(after, root, tmp_path / "second.log").losses
        wanted = unbroken(before, tmp_path / "unbroken")
        assert list(losses) == list(range(SAVED + 1, STEPS + 1))
        assert losses == pytest.approx({step: wanted[step] for step in losses}, rel=CLOSE)

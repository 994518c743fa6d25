"""An elastic Megatron-LM job goes on under another layout as if it had not changed; others are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.megatron.resume import RESHARDABLE
from tests.acceptance.support.megatron_runs import (
    CLOSE,
    TARGET,
    checkout,
    last_saved,
    started,
    trained,
)
from tests.acceptance.support.smoke_runs import LIMIT_SECONDS
from tests.acceptance.support.stages import compiled

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


def script(layout: Layout, folder: Path, elastic: bool = True) -> Path:
    given = {**vars(layout), "elastic": str(elastic).lower(), "target": TARGET}
    return compiled(JOB.format(**given), folder)["one"] / "megatron" / "pretrain.sh"


def half(found: Path, root: Path, *options: str) -> None:
    """The first steps, and their checkpoint."""
    log, end = root.parent / "first.log", ("--exit-interval", str(SAVED))
    assert max(trained(found, root, log, *end, *options).losses) == SAVED
    assert last_saved(root) == SAVED


def unbroken(found: Path, folder: Path) -> dict[int, float]:
    folder.mkdir()
    return trained(found, checkout(folder), folder / "log").losses


@pytest.mark.parametrize("name", CHANGES)
def test_it_goes_on_in_another_layout_as_if_it_had_not_changed(name: str, tmp_path: Path) -> None:
    first, second = CHANGES[name]
    before, after = script(first, tmp_path / "1"), script(second, tmp_path / "2")
    wanted = unbroken(before, tmp_path / "unbroken")
    root = checkout(tmp_path)
    half(before, root)
    found = trained(after, root, tmp_path / "second.log").losses
    assert list(found) == list(range(SAVED + 1, STEPS + 1))
    assert found == pytest.approx({step: wanted[step] for step in found}, rel=CLOSE)


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
    before, after = script(first, tmp_path / "1", False), script(second, tmp_path / "2", False)
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

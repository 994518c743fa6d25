"""What parc writes keeps what it trains, with a container and without; edits that lose it are found."""

from __future__ import annotations

import pytest

from parc.backends import BACKENDS
from parc.backends.slurm import LAUNCHER
from parc.dsl.job import Launch
from parc.lint.judging import LintOptions
from parc.lint.run import lint_texts
from tests.support.paths import ROOT
from tests.support.sample_plans import sample_plan

GOLDEN = ROOT / "tests" / "golden"
#: The example whose files are looked at; of a target that fine-tunes another one.
EXAMPLES = {"accelerate": "llama3_8b_lora"}
LAUNCHES = {
    "plain": Launch(time=172_800.0, requeue=5),
    "container": Launch(time=172_800.0, requeue=5, container="/i.sqsh", mounts="/data:/data"),
}


def emitted(target: str, launch: Launch) -> dict[str, str]:
    """The files of a target for one node of eight GPUs, and its batch script."""
    golden = GOLDEN / EXAMPLES.get(target, "llama3_8b") / target
    files = {f"{target}/{path.name}": path.read_text() for path in sorted(golden.iterdir())}
    plan = sample_plan(target, launch=launch)
    return {**files, **LAUNCHER.emit(plan, BACKENDS[target].entry)}


def said_of(files: dict[str, str]) -> set[str]:
    judged = lint_texts(files, LintOptions(select=("PAR64", "PAR65", "PAR67")), {})
    return {found.code for job in judged for found in job.findings}


@pytest.mark.parametrize("target", BACKENDS)
@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_what_parc_writes_lasts(target: str, launch: Launch) -> None:
    assert said_of(emitted(target, launch)) == set()


@pytest.mark.parametrize(
    "target, file, old, new, code",
    [
        ("megatron", "megatron/pretrain.sh", "--exit-signal-handler", "", "PAR673"),
        ("megatron", "megatron/pretrain.sh", "--load=", "--pretrained-checkpoint=", "PAR671"),
        ("torchtitan", "torchtitan/train.toml", "enable = true", "enable = false", "PAR671"),
    ],
)
def test_what_parc_writes_and_somebody_edits(
    target: str, file: str, old: str, new: str, code: str
) -> None:
    files = emitted(target, LAUNCHES["plain"])
    assert old in files[file]
    files[file] = files[file].replace(old, new)
    assert said_of(files) == {code}

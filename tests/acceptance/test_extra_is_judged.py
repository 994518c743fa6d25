"""`extra` with keys and values that nobody chose: what parc lets pass the framework's own parser takes, and
what parc calls wrong it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS
from parc.backends.deepspeed import extra as deepspeed_extra
from parc.backends.deepspeed.constraints import keys
from parc.backends.extra import Value
from parc.backends.languages import python, toml
from parc.backends.megatron import extra as megatron_extra
from parc.backends.megatron.options import Options
from parc.backends.torchtitan import extra as torchtitan_extra
from parc.backends.torchtitan.constraints import settings
from parc.dsl.job import Job
from tests.acceptance.support.drawn_extra import complaints, drawn
from tests.support.bash_launches import launches
from tests.support.sample_plans import sample_job

#: torchtitan's reader takes ten times as long for each as the others'.
DRAWS = {"megatron": 3000, "deepspeed": 3000, "torchtitan": 1000}
#: What PAR450 and torchtitan's trainer judge by the layout, and what wants a GPU.
UNDECIDED = {
    "gradient_allreduce_op",
    "zero_optimization.compute_grad_norm",
    "zero_optimization.offload_optimizer.ratio",
    "debug.spmd_typechecking",
    "aio.use_gds",
    "parallelism.enable_fsdp_symm_mem",
}
#: Complaints about a value or a name, which the framework shares, not about what the layout decides.
SHARED = {
    megatron_extra.UNKNOWN,
    megatron_extra.WRONG,
    deepspeed_extra.UNKNOWN,
    deepspeed_extra.WRONG,
    torchtitan_extra.UNKNOWN,
    torchtitan_extra.WRONG,
    *keys.CODES,
    *settings.CODES,
}


def codes(job: Job, target: str) -> set[str]:
    return {each.code for each in BACKENDS[target].target.settings(job)}


def words(key: str, value: Value, release: str) -> list[str]:
    """What the emitted line says to a program, as bash reads it."""
    options = Options.model_validate({"extra": {key: value}, "version": release})
    rows = [word for _, each in megatron_extra.given(options) for word in each.words]
    (launch,) = launches(f"python pretrain_gpt.py {' '.join(rows)}\n")
    return [str(word.text) for word in launch.words[2:]]


def nested(key: str, value: Value, release: str) -> dict[str, Any]:
    config: dict[str, Any] = {"train_batch_size": 1}
    inner = config
    *above, last = key.split(".")
    for each in above:
        inner = inner.setdefault(each, {})
    inner[last] = deepspeed_extra.written(key, value, release)
    return config


def setting(key: str, value: Value, release: str) -> list[str]:
    """The key, and its value as TOML or Python writes it."""
    known = key in torchtitan_extra.known(release)
    written = torchtitan_extra.written(key, value, release) if known else value
    return [key, python.literal(written) if release == "0.3" else toml.value(written)]


WRITERS = {"megatron": words, "deepspeed": nested, "torchtitan": setting}


def judged(target: str, release: str, seed: int) -> Mapping[bool, list[tuple[str, Value]]]:
    """Drawn pairs by whether parc lets them pass; those that the layout decides are neither."""
    found: dict[bool, list[tuple[str, Value]]] = {True: [], False: []}
    for key, value in drawn(target, release, DRAWS[target], seed):
        options = BACKENDS[target].target.options(extra={key: value}, version=release)
        said = codes(sample_job(target, options), target)
        if key in UNDECIDED:
            continue
        if not said or said & SHARED:
            found[not said].append((key, value))
    return found


@pytest.mark.parametrize(
    ("target", "release", "name"),
    [
        ("megatron", "0.19", "megatron"),
        ("deepspeed", "0.19", "deepspeed"),
        ("torchtitan", "0.2.2", "torchtitan-0.2.2"),
        ("torchtitan", "0.3", "torchtitan-0.3.0"),
    ],
)
def test_the_framework_agrees(
    target: str, release: str, name: str, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    write, found = WRITERS[target], judged(target, release, pytestconfig.option.seed)
    # DeepSpeed makes of a text what it wants, and parc is stricter: "true" is PAR404 to lint.
    for passes in (True,) if target == "deepspeed" else (True, False):
        pairs = found[passes]
        folder = tmp_path / str(passes)
        folder.mkdir()
        said = complaints(name, [write(key, value, release) for key, value in pairs], folder)
        wrong = [
            (key, value, each)
            for (key, value), each in zip(pairs, said, strict=True)
            if (not each) is not passes
        ]
        allowed = 0 if passes else len(pairs) // 20
        # A tenth passes, more or less with the seed.
        assert len(pairs) > DRAWS[target] // 15 and len(wrong) <= allowed, (
            passes,
            len(wrong),
            wrong[:20],
        )

"""Published runs on TPUs, which nothing was fitted to, beside plans of `target plan {}` for such models.

Source: MaxText's table of TPU v5p (AI-Hypercomputer/maxtext@e591f30c src/maxtext/configs/tpu/v5p/README.md):
parameters, chips and MFU. Widths, batches and layouts are not in it: models here are dense and four times as
wide inside as out, with two sequences of 8,192 tokens for each chip, and parc chooses the layout.
"""

from __future__ import annotations

from math import exp, log

import pytest

import parc
from parc.backends import OPTIONS
from parc.compiler.risk import FOUR_OF_FIVE
from parc.dsl import loads

#: Parameters in billions, layers, heads of 128, chips, and the MFU that was measured, in percent.
RUNS = (
    (32, 52, 56, 64, 71.5), (32, 52, 56, 128, 69.4), (64, 79, 64, 64, 70.3), (64, 79, 64, 128, 67.3),
    (128, 71, 96, 128, 68.7), (128, 71, 96, 256, 66.3), (128, 71, 96, 512, 59.7), (256, 90, 120, 512, 67.1),
    (256, 90, 120, 1024, 63.0), (512, 113, 152, 512, 64.0), (512, 113, 152, 1024, 61.5),
    (1024, 154, 184, 1024, 55.4), (1024, 154, 184, 2048, 51.6),
)  # fmt: skip


@pytest.mark.parametrize(("billions", "layers", "heads", "chips", "measured"), RUNS)
def test_the_error_bar_holds_published_runs(
    billions: int, layers: int, heads: int, chips: int, measured: float
) -> None:
    hidden = 128 * heads
    (plan,) = parc.compile(
        loads(
            f"model m {{ layers = {layers}; hidden = {hidden}; heads = {heads}; ffn = {4 * hidden}; "
            "vocab = 32000; gated = false }\n"
            f"cluster from std.tpu_v5p_cube {{ nodes = {chips // 4}; nvlink_domain = {chips} }}\n"
            f"train {{ seq_len = 8192; global_batch = {2 * chips}; steps = 10 }}\ntarget plan {{}}\n",
            targets=OPTIONS,
        )
    )
    assert 0.95 < 12 * layers * hidden**2 / (billions * 1e9) < 1.05
    off = abs(log(100 * plan.estimate.mfu / measured))
    assert off < FOUR_OF_FIVE * plan.estimate.step_spread, exp(off)

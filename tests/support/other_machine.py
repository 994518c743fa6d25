"""Rows of a probe by a second model of a machine, with tiles, ramps and biases that the compiler has not.

Each machine has numbers that training reaches, near the library's or far from them, and loops that reach
something else, by factors that it alone has.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from parc.calibrate.probe.prices import predicted_seconds
from parc.calibrate.probe.program.cases import cases
from parc.calibrate.probe.rows import Training
from parc.dsl import std_cluster
from parc.dsl.hardware import Cluster
from tests.support.simulated_probe import KERNELS, Case, dgx, machine

#: Deviations of ln(true / library's) of machines like the library's, and of others, by number.
MACHINES = {
    "matmul_efficiency": (0.02, 0.12),
    "memory_efficiency": (0.03, 0.15),
    "attention_efficiency": (0.05, 0.15),
    "link_efficiency": (0.02, 0.2),
    "host_time": (0.1, 0.5),
}
#: Share of machines that are another kind in a number.
OTHERS = 0.3
#: ln of what loops reach over training, and its deviation between machines: H100, A100 and B200 have 0.02 to
#: 0.07 for products and 0.2 to 0.28 for memory.
LOOPS = {"matmul_efficiency": (0.045, 0.025), "memory_efficiency": (0.24, 0.04)}
#: No loop reaches more of a peak.
MOST = 0.98
#: Deviation of one case, share of cases that something disturbs for most of their five batches, by how much,
#: and share of cases that fail.
NOISE, DISTURBED, DISTURBANCE, FAILING = 0.02, 0.01, 1.5, 0.02
#: Deviation of what prices misjudge of a small model's step.
MISJUDGED = 0.05
TILE_ROWS, TILE_COLUMNS = 128, 256
MIB = 2**20


@dataclass(frozen=True)
class Other:
    """`true` is what training reaches, `alone` what loops do; both as clusters."""

    true: Cluster
    alone: Cluster
    number: int

    def lines(self) -> list[Case]:
        """The machine's line and the rows of the third to half of all cases that a minute holds."""
        noise = random.Random(1000 + self.number)
        ranks = self.true.gpus_per_node
        planned = cases("cuda", ("bf16", "fp8"), KERNELS, ranks, ranks)
        begun = planned[: int(len(planned) * noise.uniform(0.3, 0.5))]
        return [machine(self.true, 1), *self._rows(begun, noise)]

    def _rows(self, begun: list[Case], noise: random.Random) -> Iterator[Case]:
        for case in begun:
            if noise.random() < FAILING:
                yield {**case, "seconds": [], "failed": "RuntimeError: no kernel"}
                continue
            seconds = getattr(self, case["kind"])(case) * noise.lognormvariate(0, NOISE)
            seconds *= DISTURBANCE if noise.random() < DISTURBED else 1.0
            taking = self.true.gpus_per_node
            yield {**case, "seconds": [seconds] * taking, "spread": NOISE}

    def product(self, case: Case) -> float:
        """Whole waves of tiles on all cores."""
        gpu = self.alone.gpu
        tiles = math.ceil(case["rows"] / TILE_ROWS) * math.ceil(case["columns"] / TILE_COLUMNS)
        waves = math.ceil(tiles / gpu.sms)
        lost = 1 + 0.5 * (waves * gpu.sms / tiles - 1) / math.sqrt(waves)
        fp8 = case["dtype"] == "fp8"
        rate = (
            (gpu.fp8 or 0) * gpu.fp8_efficiency if fp8 else (gpu.bf16 or 0) * gpu.matmul_efficiency
        )
        flops = 2 * case["rows"] * case["columns"] * case["inner"]
        operands = case["inner"] * (case["rows"] + case["columns"]) * (1 if fp8 else 2)
        moved = operands + 2 * case["rows"] * case["columns"]
        bound = max(flops / rate * lost, moved / (gpu.memory_bandwidth * gpu.memory_efficiency))
        return float(max(bound + 2e-6, self.launch({}) * 2))

    def attention(self, case: Case) -> float:
        """Rates that ramp up with length and with width of heads, as cuDNN's on an H100, of which 16,384
        tokens reach 580 TFLOP/s with 128 and 430 with 64; a backward pass of 2.5 times the work at 0.9 of the
        rate. On the whole a number means what it means for the compiler."""
        gpu, length = self.alone.gpu, case["seq_len"]
        work = 2 * case["batch"] * case["heads"] * length**2 * case["head_dim"]
        ramp = length / (length + 700)
        wide = 0.88 if case["head_dim"] >= 128 else 0.69
        rate = (gpu.bf16 or 0) * wide * gpu.attention_efficiency * ramp
        passes = {"forward": 1.0, "backward": 2.5 / 0.9}[case["direction"]]
        slower = 1.0 if "cudnn" in case["kernel"] else 1.6
        return float(12e-6 + passes * slower * work / rate)

    def stream(self, case: Case) -> float:
        gpu = self.alone.gpu
        return float(3e-6 + case["bytes"] / (gpu.memory_bandwidth * gpu.memory_efficiency))

    def copy(self, case: Case) -> float:
        return float(8e-6 + case["bytes"] / self.alone.gpu.pcie)

    def launch(self, case: Case) -> float:
        """An operation from Python to its kernel."""
        return 8.5e-6 * self.alone.host_time

    def training(self, case: Case) -> float:
        """What the compiler says of the true numbers, but for what it misjudges of each model: 2 to 8 % of
        the emitted jobs that an H100 trained."""
        misjudged = random.Random(f"{self.number} {sorted(case.items())}")
        row = Training.model_validate(case)
        return predicted_seconds(row, self.true) * misjudged.lognormvariate(0, MISJUDGED)

    def collective(self, case: Case) -> float:
        """Bandwidth that ramps up with the message; few GPUs do not fill the switch."""
        gpu, size, sent = self.alone.gpu, case["size"], case["bytes"]
        filled = {2: 0.6, 4: 0.8}.get(size, 0.95)
        rate = gpu.nvlink * gpu.link_efficiency * filled * sent / (sent + MIB)
        if case["op"] == "send":
            return float(4e-6 + filled * sent / rate)
        passes = 2 if case["op"] == "all_reduce" else 1.0
        return float(3.4e-6 * (size - 1) + passes * sent * (size - 1) / size / rate)


def others(count: int) -> Iterator[Other]:
    """Machines of one node, of known numbers."""
    base: Any = std_cluster("dgx_h100")
    for number in range(count):
        drawn = random.Random(number)
        true, alone = {}, {}
        for name, (alike, other) in MACHINES.items():
            library = getattr(base if name == "host_time" else base.gpu, name)
            spread = other if drawn.random() < OTHERS else alike
            bias, apart = LOOPS.get(name, (0.0, 0.0))
            looped = library * math.exp(drawn.gauss(0, spread) + bias)
            alone[name] = min(looped, MOST) if name != "host_time" else looped
            true[name] = alone[name] * math.exp(-drawn.gauss(bias, apart))
        yield Other(dgx(**true), dgx(**alone), number)

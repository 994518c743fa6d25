"""Step times of dense models by a second model of training, written apart from the compiler's formulas.

It counts waves of tiles, streams of each layer and launches of kernels, and hides gradients behind the last
backward passes. Each machine has figures of its own, each job an error that all its runs share, each layout
another one, and clocks have noise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from parc.dsl.job import Job
from tests.support.simulated_logs import Ran

#: Deviations of ln(true / library's) of machines like the library's, and of others.
MACHINES = {
    "matmul_efficiency": (0.03, 0.13),
    "memory_efficiency": (0.05, 0.25),
    "attention_efficiency": (0.05, 0.25),
    "network_efficiency": (0.1, 0.5),
}
#: Share of machines that are another kind in a figure.
OTHERS = 0.5
#: Deviations of ln(seconds) that runs of one job share, and of one layout alone.
JOB_ERROR, LAYOUT_ERROR = 0.02, 0.015
#: No figure is more.
MOST = 0.97


@dataclass(frozen=True)
class Machine:
    """`true` are the figures that training reaches, by setting."""

    true: Mapping[str, float]
    number: int

    def seconds(self, ran: Ran, job: Job) -> float:
        """Seconds of a step, with the errors of the job and the layout."""
        known = f"{self.number} {job.name}"
        shared = random.Random(known).gauss(0, JOB_ERROR)
        own = random.Random(f"{known} {ran.target} {ran.degrees}").gauss(0, LAYOUT_ERROR)
        return Step(ran, job, self.true).seconds * math.exp(shared + own)


@dataclass(frozen=True)
class Step:
    """A step of a dense model with gated feed-forward blocks."""

    ran: Ran
    job: Job
    true: Mapping[str, float]

    @property
    def tokens(self) -> float:
        """Of a micro-batch, on a rank of context parallelism."""
        return self.ran.layout.micro_batch * self.ran.seq_len / self.ran.layout.cp

    @property
    def seconds(self) -> float:
        layout, model = self.ran.layout, self.job.model
        count = self.ran.global_batch // layout.dp // layout.micro_batch
        repeated = {"full": 1.0, "selective": 0.0}.get(layout.recompute_name, 0.0)
        forward, backward = self.layer(1.0), self.layer(2.0) + repeated * self.layer(1.0)
        layers = math.ceil(model.layers / layout.pp)
        chunk = layers * (forward + backward) + self.head() / layout.pp
        passes = (count + layout.pp - 1) * chunk
        hidden = 0.8 * layers * backward
        return (
            passes + max(self.gradients() - hidden, 0.1 * self.gradients()) + self.update()
        ) * 1.01

    def layer(self, factor: float) -> float:
        """A forward pass, or with `factor` 2 a backward pass, of a layer of a rank: the longer of device and
        host, and what tensor parallelism sends."""
        model, layout, gpu = self.job.model, self.ran.layout, self.job.cluster.gpu
        shapes = (
            (model.hidden, (model.heads + 2 * model.groups) * model.head_size),
            (model.heads * model.head_size, model.hidden),
            (model.hidden, 2 * model.ffn),
            (model.ffn, model.hidden),
        )
        rate = (gpu.bf16 or 0) * self.true["matmul_efficiency"]
        products = sum(
            2 * self.tokens * one * other / layout.tp / rate * self.waves(other / layout.tp)
            for one, other in shapes
        )
        scores = 2 * self.tokens * self.ran.seq_len * model.heads * model.head_size / layout.tp
        fused = (gpu.bf16 or 0) * self.true["attention_efficiency"] * 0.9
        ramp = 1 + 700 / self.ran.seq_len
        streamed = self.tokens * (40 * model.hidden + 11 * model.ffn / layout.tp)
        memory = streamed / (gpu.memory_bandwidth * self.true["memory_efficiency"])
        device = factor * (products + (1.25 if factor > 1 else 1) * scores / fused * ramp + memory)
        host = factor * 14 * 9e-6
        return max(device, host) + factor * self.exchanged()

    def waves(self, columns: float) -> float:
        """What a last wave of tiles that does not fill all cores costs."""
        tiles = math.ceil(self.tokens / 128) * math.ceil(columns / 256)
        cores = self.job.cluster.gpu.sms
        return 1.01 + 0.25 * (math.ceil(tiles / cores) * cores / tiles - 1)

    def exchanged(self) -> float:
        """Gathers and sums over ranks of tensor parallelism, before and after both halves of a layer."""
        tp, cluster = self.ran.layout.tp, self.job.cluster
        if tp == 1:
            return 0.0
        inside = tp <= cluster.gpus_per_node
        rate = cluster.gpu.nvlink * cluster.gpu.link_efficiency if inside else self.rails
        size = 2 * self.tokens * self.job.model.hidden
        return 4 * (size * (tp - 1) / tp / rate + tp * 2e-6)

    @property
    def rails(self) -> float:
        """Bytes per second of all adapters of a node."""
        cluster = self.job.cluster
        return cluster.gpus_per_node * cluster.network * self.true["network_efficiency"]

    def head(self) -> float:
        model, layout, gpu = self.job.model, self.ran.layout, self.job.cluster.gpu
        logits = self.tokens * model.vocab / layout.tp
        products = 6 * logits * model.hidden / ((gpu.bf16 or 0) * self.true["matmul_efficiency"])
        return products + 36 * logits / (gpu.memory_bandwidth * self.true["memory_efficiency"])

    @property
    def weights(self) -> float:
        model, layout = self.job.model, self.ran.layout
        layer = model.hidden * (
            2 * model.hidden + 2 * model.groups * model.head_size + 3 * model.ffn
        )
        tables = 2 * model.vocab * model.hidden / layout.pp
        return (model.layers / layout.pp * layer + tables) / layout.tp

    def gradients(self) -> float:
        """Sums of gradients in fp32 and gathers of weights in bf16, over the slower of the two fabrics."""
        layout, cluster = self.ran.layout, self.job.cluster
        if layout.dp == 1:
            return 0.0
        wide = self.ran.gpus > cluster.gpus_per_node
        fast = cluster.gpu.nvlink * cluster.gpu.link_efficiency
        slow = self.rails / min(layout.tp, cluster.gpus_per_node)
        return 6 * self.weights / (slow if wide else fast)

    def update(self) -> float:
        gpu, layout = self.job.cluster.gpu, self.ran.layout
        shared = layout.dp_shard if layout.zero else 1
        return 30 * self.weights / shared / (gpu.memory_bandwidth * self.true["memory_efficiency"])


def machines(job: Job, count: int) -> Iterator[Machine]:
    """Machines of known figures, drawn around those of the job's cluster."""
    for number in range(count):
        drawn = random.Random(number)
        true = {}
        for name, (alike, other) in MACHINES.items():
            spread = other if drawn.random() < OTHERS else alike
            owner = job.cluster if name == "network_efficiency" else job.cluster.gpu
            true[name] = min(getattr(owner, name) * math.exp(drawn.gauss(0, spread)), MOST)
        yield Machine(true, number)

"""Failures of a cluster -> goodput: the share of a run's wall-clock time in which it trains.

Failures are a Poisson process whose rate grows with the GPUs of the job. Each one costs a restart and the
work since the last checkpoint, each checkpoint the time to write it. The complete cost function of J. Daly,
"A higher order estimate of the optimum checkpoint interval for restart dumps" (Future Generation Computer
Systems 22, 2006, doi:10.1016/j.future.2004.11.016) gives the expected wall-clock time of a run; failures may
strike while it writes, reads and restarts as well. docs/sizing.md has the formulas and published rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import Array
from ..case import Case
from ..checkpoints import WRITING_PARTS
from ..model import parameters
from ..plan import Checkpoint, Goodput

DAY, HOUR = 86400.0, 3600.0
#: Work between checkpoints at most, however rare failures are: BLOOM-176B's three hours on 384 A100s
#: (huggingface.co/blog/bloom-megatron-deepspeed).
LONGEST_SECONDS = 3 * HOUR
#: The least goodput that is told apart: a run that loses more time does not end.
LEAST = 1e-6


@dataclass(frozen=True)
class Losses:
    """Interruptions of a run, in seconds, one number per count of GPUs: `mtbf` between two failures of the
    job, `stopped` for a checkpoint, `lost` by a failure beside the work since the last one, and the work
    `interval` from one checkpoint to the next."""

    mtbf: Array
    stopped: Array
    lost: Array
    interval: Array

    @property
    def goodput(self) -> Array:
        """Useful over wall-clock time: interval / (M exp(R/M) (exp((interval + stopped)/M) - 1)), with the
        mtbf M and R lost by a failure."""
        with np.errstate(over="ignore"):
            wall = np.exp(self.lost / self.mtbf) * np.expm1(
                (self.interval + self.stopped) / self.mtbf
            )
            return np.asarray(np.maximum(self.interval / self.mtbf / wall, LEAST))


def optimal_interval(stopped: Array, mtbf: Array) -> Array:
    """Seconds of work between checkpoints that lose least time: Daly's estimate of higher order, which for
    cheap checkpoints is Young's sqrt(2 stopped mtbf) (CACM 17, 1974); the mtbf where checkpoints take twice
    as long as that or longer."""
    share = np.minimum(stopped / (2 * mtbf), 1.0)
    higher = np.sqrt(2 * stopped * mtbf) * (1 + np.sqrt(share) / 3 + share / 9) - stopped
    return np.where(stopped < 2 * mtbf, higher, mtbf)


def interval_seconds(stopped: Array, mtbf: Array) -> Array:
    """Daly's interval, at most LONGEST_SECONDS unless checkpoints are expensive."""
    longest = np.maximum(LONGEST_SECONDS, WRITING_PARTS * stopped)
    return np.asarray(np.minimum(optimal_interval(stopped, mtbf), longest))


def goodput(case: Case, gpus: Array) -> Array:
    """Goodput on so many GPUs; 1 where failures are not priced."""
    found = losses(case, gpus)
    return np.ones(np.shape(gpus)) if found is None else found.goodput


def prices_failures(case: Case) -> bool:
    """Whether days, cost and energy are of wall-clock time: the cluster says how often it fails and how fast
    it writes, the target writes checkpoints, and their interval is not the job's own."""
    cluster = case.cluster
    stored = cluster.storage_bandwidth is not None or cluster.node_storage is not None
    saves = case.job.saves(case.target.name)
    known = cluster.gpu_mtbf is not None and stored
    return known and saves and case.train.checkpoint_interval is None


def writing_seconds(case: Case, gpus: Array) -> Array | None:
    """Seconds to write a checkpoint from so many GPUs; None where nothing is known of the storage."""
    cluster = case.cluster
    bandwidth = np.full(np.shape(gpus), cluster.storage_bandwidth or 0.0)
    if cluster.storage_bandwidth is None:
        if cluster.node_storage is None:
            return None
        bandwidth = np.ceil(np.asarray(gpus) / cluster.gpus_per_node) * cluster.node_storage
    return np.asarray(checkpoint_bytes(case) / bandwidth)


def losses(case: Case, gpus: Array) -> Losses | None:
    """Interruptions of a run on so many GPUs; None where failures are not priced.

    A checkpoint is written once, at the bandwidth of the storage, and training waits for that. With
    asynchronous checkpoints it waits for the copy to host memory alone, the writing begins no sooner than the
    last one ended, and a failure loses the time of writing besides: what is not written yet does not count.
    """
    cluster = case.cluster
    written = writing_seconds(case, gpus)
    if written is None or cluster.gpu_mtbf is None or not prices_failures(case):
        return None
    gpus = np.asarray(gpus, dtype=np.float64)
    mtbf = cluster.gpu_mtbf / gpus
    lost = (cluster.restart_time or 0.0) + written
    if not case.train.async_checkpoints:
        return Losses(mtbf, written, lost, interval_seconds(written, mtbf))
    stopped = checkpoint_bytes(case) / gpus / case.gpu.pcie
    interval = np.maximum(interval_seconds(stopped, mtbf), written)
    return Losses(mtbf, stopped, lost + written, interval)


def checkpoint_bytes(case: Case) -> float:
    """Bytes of a checkpoint: weights and optimizer states as the target keeps them, each once, whatever the
    number of replicas, without frozen weights that it leaves out. Where they depend on the ZeRO stage: those
    of the stage that keeps most."""
    states = [case.state(stage) for stage in range(4)]
    each = max(state.weights - state.unsaved + state.optimizer for state in states)
    return float(each * parameters.total(case.model, seq_len=case.seq_len))


def checkpoint(case: Case, gpus: int) -> Checkpoint:
    """The size of a checkpoint, and how long so many GPUs write it where the storage is known."""
    written = writing_seconds(case, np.array([gpus]))
    seconds = None if written is None else float(written[0])
    return Checkpoint(bytes=checkpoint_bytes(case), write_seconds=seconds)


def assumptions(case: Case, gpus: int, step_seconds: float) -> Goodput | None:
    """Goodput of a layout with all that it rests on; None where failures are not priced."""
    found = losses(case, np.array([gpus]))
    if found is None:
        return None
    interval = float(found.interval[0])
    return Goodput(
        share=float(found.goodput[0]),
        failures_per_day=float(DAY / found.mtbf[0]),
        mtbf_seconds=float(found.mtbf[0]),
        stopped_seconds=float(found.stopped[0]),
        lost_seconds=float(found.lost[0]),
        interval_seconds=interval,
        interval_steps=max(1, round(interval / step_seconds)),
    )

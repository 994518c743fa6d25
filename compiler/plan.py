"""The answer for one target: a layout, its estimate and the proof, frozen; `plan.json` is their dump."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from ..dsl.expression import VALUES
from ..dsl.job import Job
from ..dsl.open_settings import Word
from .checkpoints import Checkpointing
from .headroom import headroom_risk
from .risk import band, out_of_memory
from .run import Run, run_of

RECOMPUTE = tuple(sorted(VALUES["recompute"], key=VALUES["recompute"].__getitem__))
OFFLOAD = tuple(VALUES["offload"])
PASSES = tuple(VALUES["order"])
SCHEDULES = tuple(VALUES["schedule"])
#: Values of `order` whose stages lie on the ranks in the shape of a V: rank 0 has the first and the last.
V_SHAPED = tuple(VALUES["order"][each] for each in ("zbv", "dualpipev"))


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Layout(Frozen):
    """Every degree of freedom of a run. gpus = tp * pp * cp * dp_replicate * dp_shard.

    `zero` is the ZeRO stage: what is divided over the shard group (dp_shard * cp). `recompute` and
    `offload` index RECOMPUTE and OFFLOAD, `order` PASSES; `recompute_layers` counts the fully recomputed
    layers of each virtual chunk (0 unless full). `hpz` is DeepSpeed's secondary partition size.
    For DeepSpeed `cp` is the Ulysses degree.
    """

    tp: int = 1
    pp: int = 1
    vpp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    dp_replicate: int = 1
    dp_shard: int = 1
    zero: int = 0
    micro_batch: int = 1
    microbatches: int = 1
    recompute: int = 0
    recompute_layers: int = 0
    offload: int = 0
    hpz: int = 1
    order: int = 0
    nodes: int = 1

    @property
    def dp(self) -> int:
        return self.dp_replicate * self.dp_shard

    @property
    def gpus(self) -> int:
        return self.tp * self.pp * self.cp * self.dp

    @property
    def recompute_name(self) -> str:
        return RECOMPUTE[self.recompute]

    @property
    def offload_name(self) -> str:
        return OFFLOAD[self.offload]

    @property
    def order_name(self) -> str:
        return PASSES[self.order]

    @property
    def v_shaped(self) -> bool:
        return self.order in V_SHAPED

    @property
    def in_words(self) -> dict[str, str | int]:
        """Variables by name; those that have words in the language (`VALUES`) by their word."""
        shown: dict[str, str | int] = dict(self.model_dump())
        for name, known in VALUES.items():
            if name in shown:
                shown[name] = {value: word for word, value in known.items()}[int(shown[name])]
        return shown

    @property
    def schedule(self) -> str:
        """The name of the schedule, in which 1F1B is told apart by vpp."""
        return SCHEDULES[self.order + 1 if self.order else self.vpp > 1]


class Stage(Frozen):
    """One pipeline rank: layers of each of its virtual chunks, and bytes of its memory by term."""

    index: int
    layers: tuple[int, ...]
    embedding: bool
    head: bool
    memory: dict[str, int]

    @property
    def memory_bytes(self) -> int:
        return sum(self.memory.values())


class Checkpoint(Frozen):
    """The size of a checkpoint, and the seconds to write it; None where the storage is not known."""

    bytes: float = 0.0
    write_seconds: float | None = None


class Goodput(Frozen):
    """The share of wall-clock time in which a run trains (pricing/goodput.py), and what it rests on: failures
    of the whole job, the seconds for which a checkpoint stops training, those that a failure loses beside the
    work since the last checkpoint, and the work from one checkpoint to the next, in steps too.
    """

    share: float
    failures_per_day: float
    mtbf_seconds: float
    stopped_seconds: float
    lost_seconds: float
    interval_seconds: float
    interval_steps: int


class Estimate(Frozen):
    """The price of one layout: seconds per step on the critical path, bytes on the fullest rank. `days`,
    `cost` and `energy_joules` are of wall-clock time, which without `goodput` is that of all steps.
    `cp_comm` is how context parallelism exchanges keys and values, None without it. `tflops_per_gpu` are the
    model FLOP per second, in units of 1e12, of which `mfu` is the share of the peak.
    """

    layout: Layout
    stages: tuple[Stage, ...]
    capacity_bytes: int
    ceiling_bytes: int
    time: dict[str, float]
    step_seconds: float
    mfu: float
    mfu_full_attention: float
    hfu: float
    tokens_per_second: float
    tflops_per_gpu: float
    days: float
    cost: float
    energy_joules: float
    bubble: float
    cp_comm: str | None
    step_spread: float
    familiarity: str
    memory_spread: float
    checkpoint: Checkpoint = Checkpoint()
    goodput: Goodput | None = None

    @property
    def gpus(self) -> int:
        return self.layout.gpus

    @property
    def nodes(self) -> int:
        return self.layout.nodes

    @property
    def tokens_per_second_per_gpu(self) -> float:
        return self.tokens_per_second / self.gpus

    @property
    def split(self) -> tuple[int, ...]:
        """Layers of every virtual stage in model order: stage s runs on pipeline rank s % pp; in the shape of
        a V on rank pp - 1 - s % pp where it is of an odd chunk."""
        turned = self.stages[::-1] if self.layout.v_shaped else self.stages
        return tuple(
            stage.layers[chunk]
            for chunk in range(len(self.stages[0].layers))
            for stage in (turned if chunk % 2 else self.stages)
        )

    @property
    def fullest(self) -> Stage:
        return max(self.stages, key=lambda stage: stage.memory_bytes)

    @property
    def memory_bytes(self) -> int:
        return self.fullest.memory_bytes

    @property
    def mfu_band(self) -> tuple[float, float]:
        """The range that holds the MFU of four runs in five, lowest and highest."""
        low, high = band(self.mfu, self.step_spread)
        return low, min(high, 1.0)

    @property
    def out_of_memory(self) -> float:
        """Probability that the run needs more memory than the GPU has."""
        return out_of_memory(self.memory_bytes, self.capacity_bytes, self.memory_spread)

    @property
    def has_headroom(self) -> bool:
        """Whether that is much less than the goal allows (headroom.py)."""
        most = headroom_risk(self.ceiling_bytes, self.capacity_bytes, self.memory_spread)
        return self.out_of_memory <= most


class Proof(Frozen):
    """The proof of optimality: solver status, value and bound of the best layout's objective, layouts that
    were priced, seconds of the search. `ruled_out`: the space has more, which bounds show to be worse.
    `status` is OPTIMAL, or FEASIBLE for the incumbent of a search that ran out of time or memory; its `bound`
    may be unknown."""

    status: str
    objective: str
    value: float
    bound: float | None
    layouts: int
    ruled_out: bool = False
    seconds: float


#: Expected regret beyond which a choice is not settled.
LARGE_REGRET = 0.05


class Rival(Frozen):
    """Another way of splitting the model that may be the best: its best predicted layout, the probability
    that one of its layouts is the best, the share by which it is predicted worse than the chosen one, and the
    deviation of ln(true / predicted time) between the two.
    """

    layout: Layout
    chance: float
    worse: float
    spread: float


class Doubt(Frozen):
    """How sure a choice is, among `contenders` layouts of the best predictions (search/doubt.py): the
    probability that the chosen layout is the best, that the best has its tp, pp, cp and ep, and the share by
    which it is expected to be worse than the best."""

    chance: float
    chance_of_split: float
    regret: float
    contenders: int
    rivals: tuple[Rival, ...]

    @property
    def settled(self) -> bool:
        """Whether the expected regret is small, and no other way of splitting is more probable."""
        most = max((rival.chance for rival in self.rivals), default=0.0)
        return self.regret <= LARGE_REGRET and most <= self.chance_of_split


class OtherSettings(Frozen):
    """Another choice of the settings that the job leaves open: the price of the layout that the search takes
    with it, or why there is none."""

    settings: dict[str, Word]
    estimate: Estimate | None = None
    why: str = ""


class Measured(Frozen):
    """Runs on the job's cluster (search/measured_layouts.py): how many `runs` of the target, of this job or
    another, and by what share a step of the chosen layout is `expected` to exceed its prediction by them,
    which is what it took if it ran; how many of the job's own `layouts`, and by what share the step of the
    chosen one, and of the one predicted best, exceeded the prediction; None for one that never ran. Of a
    layout that somebody gives, that one is the chosen one, and `best` is None.
    """

    runs: int
    expected: float
    layouts: int
    chosen: float | None
    best: float | None


class Simulated(Frozen):
    """Seconds of the chosen layout's step when its passes are simulated one by one. `instead` is the layout
    that closed forms alone would have chosen, where simulated it takes longer, and how long."""

    step_seconds: float
    instead: Layout | None = None
    instead_seconds: float = 0.0


class WorthwhileSetting(Frozen):
    """A setting that the job leaves at its default and with which the plan's layout would be faster by the
    share `gain`: its path, such as `("train", "compile")`, the value, and what it needs, in words.
    """

    path: tuple[str, ...]
    value: Word
    gain: float
    needs: str = ""


class FewerNodes(Frozen):
    """The price of a layout on fewer nodes that is predicted about as fast as the plan on all of them
    (search/fewer_nodes.py). Of several racks, of each of which some nodes are left out, `nvlink_domain` is
    the number of GPUs that are left of each."""

    estimate: Estimate
    nvlink_domain: int | None = None


class Follows(Frozen):
    """The conditions under which a layout loads the checkpoint of the `stage` before, of those that the best
    layout does not satisfy, and that one's price."""

    stage: str
    conditions: tuple[str, ...]
    best: Estimate


class Plan(Frozen):
    """The answer for one target. `best` is the layout that is predicted best where another one is chosen: a
    simpler or roomier one, as good within `goal.within`, or one that did better when layouts ran or were
    simulated, as `simulated` tells of a pipeline. `settings` are the chosen values of what the job leaves
    open, and `other_settings` all other choices, the best first; `job` has the chosen ones, of which alone
    `best`, `runners_up` and `doubt` tell, and the proof covers all. `fewer` is looked for on the best target
    alone, and so is `worthwhile`: what other settings would bring. `follows` is of a stage that would have
    another layout if it did not begin with the weights of the one before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    job: Job
    target: str
    estimate: Estimate
    proof: Proof
    doubt: Doubt | None = None
    best: Estimate | None = None
    runners_up: tuple[Estimate, ...] = ()
    binding: tuple[str, ...] = ()
    measured: Measured | None = None
    simulated: Simulated | None = None
    settings: dict[str, Word] = {}
    other_settings: tuple[OtherSettings, ...] = ()
    fewer: FewerNodes | None = None
    worthwhile: tuple[WorthwhileSetting, ...] = ()
    follows: Follows | None = None

    @property
    def layout(self) -> Layout:
        return self.estimate.layout

    @property
    def checkpoints(self) -> Checkpointing:
        return Checkpointing(self.job, self.target, self.estimate)

    @property
    def run(self) -> Run:
        """The name and the digest of what is trained, which name the folder of its checkpoints."""
        return run_of(self.job, self.target)

    @property
    def signal_seconds(self) -> float:
        return self.checkpoints.signal_seconds

    @property
    def start_seconds(self) -> float | None:
        return self.checkpoints.start_seconds

    @property
    def checkpoint_interval(self) -> int:
        return self.checkpoints.interval_steps

    @property
    def freed_bytes(self) -> int:
        """Bytes that the fullest GPU needs less than with the best prediction, where that has no headroom."""
        if self.best is None or self.best.has_headroom or not self.estimate.has_headroom:
            return 0
        return self.best.memory_bytes - self.estimate.memory_bytes

    @property
    def options(self) -> Any:
        """The settings of this plan's `target` block."""
        return self.job.options(self.target)

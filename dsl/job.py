"""The job: the frozen result of reading a job file, in base units (bytes, seconds, FLOP, $)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from . import batch_ramp, tuning
from .diagnostics import Span
from .expression import Expression
from .hardware import Cluster
from .launchers import Hosts, Kubernetes, Ray, SkyPilot
from .launchers import Launch as Launch
from .model import Model
from .open_settings import Word
from .settings import Count, Doc, Frozen, Open, Seconds, Unit, Zero

#: `min_learning_rate` unless given, beside rates above it.
MIN_LEARNING_RATE = 3e-5


class Train(Frozen):
    seq_len: Annotated[int, Unit("token"), Field(ge=1, le=10**8), Doc("tokens in a sequence")]
    global_batch: Annotated[
        int,
        Unit("sequence"),
        Field(ge=1, le=10**8),
        Doc("sequences per step; tokens are divided by seq_len"),
    ]
    tokens: Annotated[
        int | None, Unit("token"), Field(ge=1, le=10**17), Doc("training length; instead of steps")
    ] = None
    steps: Annotated[
        int | None, Unit("1"), Field(ge=1, le=10**10), Doc("training length; instead of tokens")
    ] = None
    precision: Annotated[
        Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4"],
        Doc("of matrix products"),
    ] = "bf16"
    optimizer: Annotated[
        Literal["adam", "adam8bit", "sgd", "muon"], Doc("decides the bytes of state per parameter")
    ] = "adam"
    attention: Annotated[
        Literal["flash", "unfused"], Doc("fused kernel, or one that stores the scores")
    ] = "flash"
    compile: Annotated[
        bool,
        Doc("torch.compile where the target has it"),
        Open((("true", "compiles for minutes at each start"),)),
    ] = False
    dropout: Annotated[
        float, Unit("1"), Field(ge=0, lt=1), Doc("share of activations set to zero")
    ] = 0.0
    learning_rate: Annotated[
        float,
        Unit("1"),
        Field(gt=0, le=10),
        Doc(
            "highest of the schedule; with `tune` 1e-5 for all weights and 2e-4 for adapters, unless given"
        ),
    ] = 3e-4
    min_learning_rate: Annotated[
        float,
        Unit("1"),
        Field(ge=0, le=10),
        Doc(
            "last of the schedule; a tenth of learning_rate where that is 3e-5 or less, unless given"
        ),
    ] = MIN_LEARNING_RATE
    schedule: Annotated[
        Literal["cosine", "linear", "constant", "wsd"],
        Doc("of the learning rate, after the warmup; wsd stays high and decays at the end"),
    ] = "cosine"
    warmup: Annotated[
        Zero | None, Doc("steps; 2,000, or a twentieth of a shorter run, unless given")
    ] = None
    decay_steps: Annotated[
        Count | None, Doc("wsd: last steps, in which the rate falls; a tenth unless given")
    ] = None
    decay_style: Annotated[
        Literal["linear", "cosine", "sqrt", "exponential"], Doc("wsd: how the rate falls")
    ] = "linear"
    ramp_from: Annotated[
        int | None,
        Unit("sequence"),
        Field(ge=1, le=10**8),
        Doc("batch of the first step, which grows to global_batch in equal steps of this size"),
    ] = None
    ramp_tokens: Annotated[
        int | None, Unit("token"), Field(ge=1, le=10**17), Doc("tokens until the batch is full")
    ] = None
    weight_decay: Annotated[float, Unit("1"), Field(ge=0, le=10), Doc("decoupled")] = 0.1
    beta1: Annotated[float, Unit("1"), Field(ge=0, lt=1), Doc("decay of the first moment")] = 0.9
    beta2: Annotated[float, Unit("1"), Field(ge=0, lt=1), Doc("decay of the second moment")] = 0.95
    clip_grad: Annotated[
        float, Unit("1"), Field(ge=0), Doc("largest norm of all gradients; 0 does not clip")
    ] = 1.0
    weights: Annotated[
        str | None,
        Doc(
            "Hugging Face checkpoint to start from, a folder or a name of its hub; drawn unless given"
        ),
    ] = None
    tune: Annotated[
        tuning.Tune | None,
        Doc("what of `weights` is trained: full all, lora adapters alone; all unless given"),
    ] = None
    adapter_rank: tuning.Rank = tuning.USUAL.rank
    adapter_alpha: tuning.Alpha = tuning.USUAL.alpha
    adapter_targets: tuning.Targets = tuning.USUAL.targets
    adapter_dropout: tuning.Dropout = tuning.USUAL.dropout
    carry: Annotated[
        Literal["weights", "all"],
        Doc(
            "what a stage takes of the one before: its weights, or the optimizer's moments, the step and the "
            "position in the data too"
        ),
    ] = "weights"
    checkpoint_interval: Annotated[
        int | None,
        Unit("1"),
        Field(ge=1, le=10**9),
        Doc(
            "steps; unless given what suits the cluster's failures, an hour where they are not known, and at "
            "most a third of what a wall time lets a start train"
        ),
    ] = None
    keep_checkpoints: Annotated[
        Zero | None,
        Doc(
            "the newest that stay; 0 keeps all; ten unless given, which Megatron-LM takes from all of the run"
        ),
    ] = None
    async_checkpoints: Annotated[bool, Doc("training goes on while a checkpoint is written")] = (
        False
    )
    elastic: Annotated[
        bool | None,
        Doc(
            "checkpoints, and starts, that go on under another layout (docs/resume.md); where `nodes` is a "
            "range or a set unless given"
        ),
    ] = None
    collective_timeout: Annotated[
        Seconds | None,
        Doc(
            "after which a hanging collective ends the job; an hour until the first step ends, then ten "
            "minutes or two steps, unless given"
        ),
    ] = None
    tracker: Annotated[
        Literal["tensorboard", "wandb"] | None,
        Doc(
            "curves in TensorBoard's files in the run's folder, or in Weights & Biases; none unless given "
            "here or in a target"
        ),
    ] = None
    seed: Annotated[
        int, Unit("1"), Field(ge=0, le=2**31 - 1), Doc("of initialisation and data order")
    ] = 1234

    @model_validator(mode="before")
    @classmethod
    def _rate_falls(cls, values: dict[str, Any]) -> dict[str, Any]:
        if "learning_rate" not in values and values.get("tune") in tuning.LEARNING_RATES:
            values = values | {"learning_rate": tuning.LEARNING_RATES[values["tune"]]}
        rate = values.get("learning_rate")
        if "min_learning_rate" in values or not isinstance(rate, float | int):
            return values
        return values | ({"min_learning_rate": rate / 10} if rate <= MIN_LEARNING_RATE else {})

    @property
    def adapters(self) -> tuning.Adapters | None:
        """The adapters that are trained instead of the weights; None where the weights are."""
        if self.tune not in ("lora", "qlora"):
            return None
        return tuning.Adapters(
            rank=self.adapter_rank,
            alpha=self.adapter_alpha,
            targets=self.adapter_targets,
            dropout=self.adapter_dropout,
        )

    @property
    def ramp(self) -> tuple[batch_ramp.Stage, ...]:
        """The stages of a growing batch; a single one where it does not grow."""
        if self.ramp_from is not None and self.ramp_tokens is not None:
            until = self.ramp_tokens // self.seq_len
            if found := batch_ramp.stages(self.ramp_from, self.global_batch, until):
                return found
        return (batch_ramp.Stage(0, self.global_batch),)

    @property
    def total_steps(self) -> int:
        if self.steps is not None:
            return self.steps
        return batch_ramp.steps_until(self.ramp, math.ceil((self.tokens or 0) / self.seq_len))

    def sequences_after(self, steps: int) -> int:
        """Sequences that the first so many steps train."""
        return batch_ramp.sequences_after(self.ramp, steps)

    @property
    def full_batches(self) -> int:
        """The run as steps of the full batch: what its time is counted in."""
        return math.ceil(self.sequences_after(self.total_steps) / self.global_batch)

    @property
    def warmup_steps(self) -> int:
        """2,000 steps for runs of 40,000 and more, a twentieth of shorter ones."""
        return min(2000, self.total_steps // 20) if self.warmup is None else self.warmup

    @property
    def wsd_steps(self) -> int:
        """The last steps, in which the rate of `wsd` falls."""
        return self.decay_steps or max(1, self.total_steps // 10)


@dataclass(frozen=True)
class Objective:
    direction: Literal["maximize", "minimize"]
    quantity: str
    span: Span


@dataclass(frozen=True)
class Constraint:
    """`require` and `forbid` are hard; `prefer` decides between layouts that are about equally good."""

    kind: Literal["require", "forbid", "prefer"]
    expression: Expression
    span: Span
    reason: str | None = None

    @property
    def text(self) -> str:
        return " ".join(self.span.text.split())


#: `goal.within` unless given: far below what predictions are off (benchmarks/accuracy/left_out.py), and far
#: below the differences in which layouts of one job are ranked right.
WITHIN = 0.01


@dataclass(frozen=True)
class Goal:
    """Objectives in order of priority, and conditions. Without an objective: maximize mfu.

    Layouts whose first objective is at most `within`, a share, from the best count as equally good: among
    them decide preferences, then simplicity.
    """

    objectives: tuple[Objective, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    within: float = WITHIN


#: What starts the job, by `kind`.
AnyLaunch = Launch | Kubernetes | Hosts | SkyPilot | Ray


class TargetSpec(Frozen):
    """One framework to compile for; `options` is the instance of the backend's own settings class."""

    name: str
    options: Any = None


class Job(Frozen):
    """Everything that a job file states; `span(path)` finds a setting in the text.

    A job that is trained in stages has a whole job for each in `stages`, whose `train` is the stage's and
    whose `stage` is its name; its own `train` and `goal` are those of the first. A stage begins with the last
    weights of the `previous` one, unless it names `weights` itself. One that carries all goes on at its step:
    its `train.steps` are those of both, of which `steps_before` are trained already. `open` has the settings
    that are left to the search (`open_settings.py`), each of which has the first of its values. `overrides`
    are the texts given with the file, such as "train.seq_len=4096".
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True
    )

    name: str
    path: str
    digest: Annotated[str, Doc("sha256 of the job file, its imports and the overrides")]
    model: Model
    cluster: Cluster
    train: Train
    goal: Goal = Goal()
    targets: tuple[TargetSpec, ...]
    launch: Annotated[AnyLaunch | None, Field(discriminator="kind")] = None
    stage: str = ""
    stages: tuple["Job", ...] = ()
    steps_before: int = 0
    previous: "Job | None" = None
    open: dict[tuple[str, ...], tuple[Word, ...]] = {}
    overrides: tuple[str, ...] = ()

    _spans: dict[tuple[str, ...], Span] = PrivateAttr(default_factory=dict)
    _blocks: dict[tuple[str, str], Span] = PrivateAttr(default_factory=dict)

    @property
    def slurm(self) -> Launch:
        """The settings of `launch slurm`; its defaults where something else starts the job."""
        return self.launch if isinstance(self.launch, Launch) else Launch()

    @property
    def own_steps(self) -> int:
        """Steps without those of the stages that this one goes on from."""
        return self.train.total_steps - self.steps_before

    @property
    def full_batches(self) -> int:
        """The steps of its own, counted in full batches; a batch that grows is of a first stage alone."""
        return self.train.full_batches - self.steps_before

    @property
    def elastic(self) -> bool:
        """Whether checkpoints and starts go on under another layout, as far as the chosen one lets them."""
        said = self.train.elastic
        return len(self.cluster.nodes) > 1 if said is None else said

    @model_validator(mode="after")
    def _length_is_given(self) -> "Job":
        if self.train.tokens is None and self.train.steps is None:
            raise ValueError("train needs `tokens` or `steps`")
        return self

    def with_spans(
        self, spans: Mapping[tuple[str, ...], Span], blocks: Mapping[tuple[str, str], Span]
    ) -> "Job":
        self._spans.update(spans)
        self._blocks.update(blocks)
        return self

    def blocks(self, kind: str) -> dict[str, Span]:
        """Where each named block of a kind begins, by name: of the job's file and of those it imports."""
        return {name: span for (of, name), span in self._blocks.items() if of == kind}

    def span(self, *path: str) -> Span | None:
        """Position of a setting, such as `span("train", "seq_len")`; of its block if it is defaulted."""
        while path:
            if path in self._spans:
                return self._spans[path]
            path = path[:-1]
        return None

    def options(self, target: str) -> Any:
        """The settings of a `target` block; None when the job has no such target."""
        return next((spec.options for spec in self.targets if spec.name == target), None)

    def saves(self, target: str) -> bool:
        """Whether a target writes checkpoints."""
        return getattr(self.options(target), "save", True) not in (False, None)

    @property
    def peak_flops(self) -> float:
        """FLOP/s of one GPU in the job's precision; the base of MFU."""
        gpu = self.cluster.gpu
        rate = gpu.rate(self.train.precision)
        if rate is None:
            raise ValueError(f"{gpu.name} has no {self.train.precision} rate")
        return rate

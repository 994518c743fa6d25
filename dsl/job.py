"""What was asked for: the frozen result of reading a job file, in base units (bytes, seconds, FLOP, $)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from .diagnostics import Span
from .expression import Expression


@dataclass(frozen=True)
class Unit:
    """Metadata of a field: the dimension of its values, as `units.py` spells it ("1" is a bare number)."""

    dimension: str


@dataclass(frozen=True)
class Doc:
    """Metadata of a field: one line for the language reference."""

    text: str


Bytes = Annotated[int, Unit("B"), Field(ge=0, le=10**18)]
Bandwidth = Annotated[float, Unit("B/s"), Field(gt=0, le=1e16)]
Seconds = Annotated[float, Unit("s"), Field(ge=0, le=1e10)]
FlopRate = Annotated[float, Unit("FLOP/s"), Field(gt=0, le=1e19)]
Watts = Annotated[float, Unit("J/s"), Field(gt=0, le=1e6)]
Price = Annotated[float, Unit("$/s"), Field(ge=0, le=1e3)]
Share = Annotated[float, Unit("1"), Field(gt=0, le=1)]
Count = Annotated[int, Unit("1"), Field(ge=1, le=10**7)]
Zero = Annotated[int, Unit("1"), Field(ge=0, le=10**7)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Model(Frozen):
    """A decoder-only transformer. Widths are counted in elements."""

    name: str = ""
    layers: Annotated[int, Unit("1"), Field(ge=1, le=10_000), Doc("transformer blocks")]
    hidden: Annotated[int, Unit("1"), Field(ge=1, le=10**6), Doc("width of the residual stream")]
    heads: Annotated[int, Unit("1"), Field(ge=1, le=10**5), Doc("query heads")]
    kv_heads: Annotated[Count | None, Doc("key and value heads; `heads` unless given")] = None
    head_dim: Annotated[Count | None, Doc("size of one head; hidden / heads unless given")] = None
    ffn: Annotated[Count, Doc("width of the dense feed-forward block")]
    vocab: Annotated[Count, Doc("vocabulary, unpadded")]
    gated: Annotated[
        bool, Doc("gated feed-forward (SwiGLU: three matrices) instead of a plain one (two)")
    ] = True
    activation: Annotated[
        Literal["silu", "gelu", "relu", "squared_relu"] | None, Doc("silu when gated, else gelu")
    ] = None
    norm: Annotated[Literal["rmsnorm", "layernorm"], Doc("normalisation")] = "rmsnorm"
    norm_eps: Annotated[
        float, Unit("1"), Field(gt=0, lt=1), Doc("added to the variance before its root")
    ] = 1e-5
    position: Annotated[Literal["rope", "learned", "none"], Doc("position embedding")] = "rope"
    rope_theta: Annotated[float, Unit("1"), Field(gt=0), Doc("base of the rotary wavelengths")] = (
        10_000.0
    )
    max_positions: Annotated[Count | None, Doc("learned position table; seq_len unless given")] = (
        None
    )
    bias: Annotated[bool, Doc("biases in every linear layer")] = False
    qkv_bias: Annotated[bool, Doc("biases in the query, key and value projections alone")] = False
    qk_norm: Annotated[bool, Doc("normalise queries and keys per head")] = False
    tied: Annotated[bool, Doc("output head shares the embedding's weights")] = False
    causal: Annotated[bool, Doc("a token sees only those before it")] = True
    window: Annotated[Count | None, Doc("sliding-window attention: keys that a token sees")] = None
    experts: Annotated[Zero, Doc("routed experts per MoE layer; 0 is a dense model")] = 0
    topk: Annotated[Zero, Doc("routed experts that a token visits")] = 0
    expert_ffn: Annotated[Count | None, Doc("width of one expert; `ffn` unless given")] = None
    shared_experts: Annotated[Zero, Doc("experts that every token visits")] = 0
    dense_layers: Annotated[Zero, Doc("leading layers that stay dense in an MoE model")] = 0
    q_lora_rank: Annotated[Zero, Doc("MLA: rank of the query compression, 0 for none")] = 0
    kv_lora_rank: Annotated[
        Zero, Doc("MLA: rank of the key/value compression; above 0 switches MLA on")
    ] = 0
    qk_nope_head_dim: Annotated[Zero, Doc("MLA: per-head query/key size without position")] = 0
    qk_rope_head_dim: Annotated[Zero, Doc("MLA: per-head query/key size with rope")] = 0
    v_head_dim: Annotated[Zero, Doc("MLA: per-head value size")] = 0
    mtp_layers: Annotated[Zero, Doc("multi-token-prediction layers after the last block")] = 0

    @property
    def groups(self) -> int:
        return self.kv_heads or self.heads

    @property
    def head_size(self) -> int:
        return self.head_dim or self.hidden // self.heads

    @property
    def expert_width(self) -> int:
        return self.expert_ffn or self.ffn

    @property
    def moe(self) -> bool:
        return self.experts > 0

    @property
    def mla(self) -> bool:
        return self.kv_lora_rank > 0

    @property
    def moe_layers(self) -> int:
        return self.layers - self.dense_layers if self.moe else 0

    @property
    def activation_name(self) -> str:
        return self.activation or ("silu" if self.gated else "gelu")


class Gpu(Frozen):
    """One accelerator. FLOP rates are dense (no sparsity); bandwidths are per direction."""

    name: str = ""
    vendor: Annotated[
        Literal["nvidia", "amd", "google", "aws"],
        Doc("who makes it; targets emit for nvidia and amd"),
    ] = "nvidia"
    arch: Annotated[str, Doc("what kernels are built for, such as sm90 or gfx942")]
    memory: Annotated[Bytes, Doc("memory that a process can see")]
    memory_bandwidth: Annotated[Bandwidth, Doc("of the GPU's own memory")]
    bf16: Annotated[FlopRate | None, Doc("dense matrix rate; leave out what the chip lacks")] = None
    fp16: Annotated[FlopRate | None, Doc("dense matrix rate")] = None
    fp8: Annotated[FlopRate | None, Doc("dense matrix rate")] = None
    nvlink: Annotated[Bandwidth, Doc("to the other GPUs of its fast domain, per direction")]
    nvlink_latency: Annotated[Seconds, Doc("of one message inside the fast domain")] = 3e-6
    pcie: Annotated[Bandwidth, Doc("to host memory, per direction")] = 25e9
    sms: Annotated[Count, Doc("cores that share the tiles of a matrix product: SMs or CUs")] = 128
    tile: Annotated[Count, Doc("elements of a matrix product's result that a core has at once")] = (
        128 * 128
    )
    power: Annotated[Watts, Doc("board power at full load")] = 700.0
    matmul_efficiency: Annotated[Share, Doc("share of peak that large matrix products reach")] = (
        0.75
    )
    fp8_efficiency: Annotated[
        Share, Doc("share of the fp8 peak that large matrix products reach")
    ] = 0.65
    attention_efficiency: Annotated[
        Share, Doc("share of peak that fused attention reaches, heads 128 wide, long sequences")
    ] = 0.5
    memory_efficiency: Annotated[
        Share, Doc("share of memory bandwidth that elementwise kernels reach")
    ] = 0.8
    link_efficiency: Annotated[Share, Doc("share of the fast link that collectives reach")] = 0.75
    kernel_launch: Annotated[Seconds, Doc("time to start one kernel")] = 4e-6
    step_spread: Annotated[
        Share,
        Doc("how far measured step times lie from predicted ones: the deviation of their ratio"),
    ] = 0.2
    reserve: Annotated[Bytes, Doc("memory that driver context, NCCL and the allocator keep")] = (
        2 * 2**30
    )

    def rate(self, precision: str) -> float | None:
        """Dense matrix rate of a precision, None where the chip lacks it. mxfp8 runs at the fp8 rate."""
        rates = {"bf16": self.bf16, "fp16": self.fp16, "fp8": self.fp8, "mxfp8": self.fp8}
        return rates[precision]


class Cluster(Frozen):
    """Nodes of equal GPUs, joined by a network. Ranks fill a node before the next."""

    name: str = ""
    gpu: Annotated[Gpu, Doc("every node has the same")]
    nodes: Annotated[
        tuple[int, ...],
        Unit("1"),
        Field(min_length=1, max_length=4096),
        Doc("a number, or a range to choose from"),
    ]
    gpus_per_node: Annotated[int, Unit("1"), Field(ge=1, le=1024), Doc("GPUs of one node")]
    nvlink_domain: Annotated[
        Count | None, Doc("GPUs joined by the fast link; gpus_per_node unless given")
    ] = None
    nvlink_mesh: Annotated[
        bool, Doc("links join pairs of GPUs, without a switch: n of them use the n - 1 of each")
    ] = False
    network: Annotated[Bandwidth, Doc("per GPU and direction, between domains")]
    network_latency: Annotated[Seconds, Doc("of one message between nodes")] = 8e-6
    network_efficiency: Annotated[Share, Doc("share of the network that collectives reach")] = 0.75
    pod_gpus: Annotated[
        Count | None, Doc("GPUs under one full-bandwidth fabric; all unless given")
    ] = None
    pod_network: Annotated[Bandwidth | None, Doc("per GPU and direction, between pods")] = None
    node_memory: Annotated[Bytes, Doc("host memory of a node, for offload")] = 1024 * 2**30
    cpu_cores: Annotated[Count, Doc("cores of a node")] = 96
    price: Annotated[Price, Doc("of one GPU")] = 0.0
    reserved_power: Annotated[Watts | None, Doc("host, network and cooling, per GPU")] = None

    @property
    def domain(self) -> int:
        return self.nvlink_domain or self.gpus_per_node


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
        Literal["bf16", "fp16", "fp8", "mxfp8"],
        Doc("of matrix products"),
    ] = "bf16"
    optimizer: Annotated[
        Literal["adam", "adam8bit", "sgd", "muon"], Doc("decides the bytes of state per parameter")
    ] = "adam"
    attention: Annotated[
        Literal["flash", "unfused"], Doc("fused kernel, or one that stores the scores")
    ] = "flash"
    compile: Annotated[bool, Doc("torch.compile where the target has it")] = False
    dropout: Annotated[
        float, Unit("1"), Field(ge=0, lt=1), Doc("share of activations set to zero")
    ] = 0.0
    learning_rate: Annotated[
        float, Unit("1"), Field(gt=0, le=10), Doc("highest of the schedule")
    ] = 3e-4
    min_learning_rate: Annotated[
        float, Unit("1"), Field(ge=0, le=10), Doc("last of the schedule")
    ] = 3e-5
    schedule: Annotated[
        Literal["cosine", "linear", "constant"], Doc("of the learning rate, after the warmup")
    ] = "cosine"
    warmup: Annotated[Zero, Doc("steps")] = 2000
    weight_decay: Annotated[float, Unit("1"), Field(ge=0, le=10), Doc("decoupled")] = 0.1
    beta1: Annotated[float, Unit("1"), Field(ge=0, lt=1), Doc("decay of the first moment")] = 0.9
    beta2: Annotated[float, Unit("1"), Field(ge=0, lt=1), Doc("decay of the second moment")] = 0.95
    clip_grad: Annotated[
        float, Unit("1"), Field(ge=0), Doc("largest norm of all gradients; 0 does not clip")
    ] = 1.0
    checkpoint_interval: Annotated[int, Unit("1"), Field(ge=1, le=10**9), Doc("steps")] = 1000
    seed: Annotated[
        int, Unit("1"), Field(ge=0, le=2**31 - 1), Doc("of initialisation and data order")
    ] = 1234

    @property
    def total_steps(self) -> int:
        if self.steps is not None:
            return self.steps
        return math.ceil((self.tokens or 0) / (self.global_batch * self.seq_len))


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


@dataclass(frozen=True)
class Goal:
    """Objectives in order of priority, and conditions. Without an objective: maximize mfu."""

    objectives: tuple[Objective, ...] = ()
    constraints: tuple[Constraint, ...] = ()


class Launch(Frozen):
    """How the job is started: the fields of `launch slurm { ... }`. The site decides what is None."""

    kind: Literal["slurm"] = "slurm"
    job_name: Annotated[str | None, Doc("the job file's name unless given")] = None
    partition: Annotated[str | None, Doc("where to queue")] = None
    account: Annotated[str | None, Doc("who pays")] = None
    qos: Annotated[str | None, Doc("quality of service")] = None
    constraint: Annotated[str | None, Doc("node features that the job needs")] = None
    reservation: Annotated[str | None, Doc("nodes set aside for it")] = None
    time: Annotated[Seconds | None, Doc("wall time")] = None
    signal: Annotated[Seconds, Doc("warning before the wall time, for a last checkpoint")] = 600.0
    requeue: Annotated[
        int, Unit("1"), Field(ge=0, le=1000), Doc("how often a failed job is started again")
    ] = 3
    exclusive: Annotated[bool, Doc("no other job on its nodes")] = True
    gpu_request: Annotated[
        Literal["gpus-per-node", "gres"], Doc("how the site wants GPUs asked for")
    ] = "gpus-per-node"
    gpu_type: Annotated[str | None, Doc("type in the GPU request, such as h100")] = None
    container: Annotated[str | None, Doc("image for pyxis")] = None
    mounts: Annotated[str | None, Doc("of the container: source:target, comma-separated")] = None
    modules: Annotated[tuple[str, ...], Doc("module load lines")] = ()
    setup: Annotated[tuple[str, ...], Doc("shell lines before the launch")] = ()
    segment: Annotated[
        Count | None, Doc("--segment for NVL72 block topology; computed unless given")
    ] = None
    extra: Annotated[
        dict[str, str | int | bool], Doc("any other sbatch option, by its long name")
    ] = {}


class TargetSpec(Frozen):
    """One framework to compile for; `options` is the instance of the backend's own settings class."""

    name: str
    options: Any = None


class Job(Frozen):
    """Everything that a job file states; `span(path)` finds a setting in the text."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: str
    path: str
    digest: Annotated[str, Doc("sha256 of the job file, its imports and the overrides")]
    model: Model
    cluster: Cluster
    train: Train
    goal: Goal = Goal()
    targets: tuple[TargetSpec, ...]
    launch: Launch | None = None

    _spans: dict[tuple[str, ...], Span] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _length_is_given(self) -> Job:
        if self.train.tokens is None and self.train.steps is None:
            raise ValueError("train needs `tokens` or `steps`")
        return self

    def with_spans(self, spans: dict[tuple[str, ...], Span]) -> Job:
        self._spans.update(spans)
        return self

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

    @property
    def peak_flops(self) -> float:
        """FLOP/s of one GPU in the job's precision; the base of MFU."""
        gpu = self.cluster.gpu
        rate = gpu.rate(self.train.precision)
        if rate is None:
            raise ValueError(f"{gpu.name} has no {self.train.precision} rate")
        return rate

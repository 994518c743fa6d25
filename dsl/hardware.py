"""The `gpu` and `cluster` blocks: what a job runs on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .settings import (
    Bandwidth,
    Bytes,
    Count,
    Doc,
    Factor,
    FlopRate,
    Frozen,
    Positive,
    PossibleShare,
    Price,
    Seconds,
    Share,
    Unit,
    Watts,
)


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
    fp4: Annotated[FlopRate | None, Doc("dense matrix rate of nvfp4")] = None
    nvlink: Annotated[Bandwidth, Doc("to the other GPUs of its fast domain, per direction")]
    nvlink_latency: Annotated[Seconds, Doc("of one message inside the fast domain")] = 3e-6
    pcie: Annotated[Bandwidth, Doc("to host memory, per direction")] = 25e9
    sms: Annotated[Count, Doc("cores that share the work of a kernel: SMs or CUs")] = 128
    power: Annotated[Watts, Doc("board power at full load")] = 700.0
    power_limit: Annotated[
        Watts | None, Doc("cap below `power`, as `nvidia-smi --power-limit` sets it")
    ] = None
    matmul_efficiency: Annotated[Share, Doc("share of peak that large matrix products reach")] = (
        0.75
    )
    fp8_efficiency: Annotated[
        Share, Doc("share of the fp8 peak that large matrix products reach")
    ] = 0.65
    fp4_efficiency: Annotated[
        Share, Doc("share of the fp4 peak that large matrix products reach")
    ] = 0.5
    attention_efficiency: Annotated[
        Share, Doc("share of peak that fused attention reaches, heads 128 wide, long sequences")
    ] = 0.5
    memory_efficiency: Annotated[
        Share, Doc("share of memory bandwidth that elementwise kernels reach")
    ] = 0.8
    link_efficiency: Annotated[Share, Doc("share of the fast link that collectives reach")] = 0.75
    switch_sums: Annotated[
        PossibleShare,
        Doc("share of the fast link at which its switch sums an all-reduce, 0 where it does not"),
    ] = 0.0
    kernel_launch: Annotated[Seconds, Doc("time to start one kernel")] = 4e-6
    measured: Annotated[
        bool, Doc("its efficiencies are fitted to measured training runs on GPUs of its kind")
    ] = False
    step_spread: Annotated[
        Share | None,
        Doc(
            "how far a site's step times lie from predicted ones, the deviation of their ratio; by how "
            "well the GPU and the stack are known where it is not given"
        ),
    ] = None
    before: Annotated[
        tuple[str, ...],
        Doc(
            "settings as they were before `parc calibrate` fitted them, from which it starts again"
        ),
    ] = ()
    reserve: Annotated[Bytes, Doc("memory that driver context, NCCL and the allocator keep")] = (
        2 * 2**30
    )

    def rate(self, precision: str) -> float | None:
        """Dense matrix rate of a precision in FLOP/s, None where the chip lacks it."""
        return {
            "bf16": self.bf16,
            "fp16": self.fp16,
            "fp8": self.fp8,
            "mxfp8": self.fp8,
            "nvfp4": self.fp4,
        }[precision]

    def efficiency(self, precision: str) -> float:
        """Share of a precision's rate that large matrix products reach."""
        quantized = {
            "fp8": self.fp8_efficiency,
            "mxfp8": self.fp8_efficiency,
            "nvfp4": self.fp4_efficiency,
        }
        return quantized.get(precision, self.matmul_efficiency)

    @property
    def drawn(self) -> float:
        """Watts at full load."""
        return min(self.power, self.power_limit or self.power)

    @property
    def capped(self) -> float:
        """Share of its rates that the GPU keeps under its power limit: clocks go with the cube root of power,
        since voltage goes with frequency and power with frequency times the square of voltage."""
        return float((self.drawn / self.power) ** (1 / 3))


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
    network: Annotated[
        Bandwidth, Doc("per GPU and direction, between domains; one node needs none")
    ]
    network_latency: Annotated[Seconds, Doc("of one message between nodes")] = 8e-6
    network_efficiency: Annotated[Share, Doc("share of the network that collectives reach")] = 0.75
    overlap_lost: Annotated[
        PossibleShare,
        Doc(
            "share of the traffic that a framework overlaps with computation which does not overlap"
        ),
    ] = 0.0
    host_time: Annotated[
        Factor, Doc("time of the hosts to launch kernels, over what is priced for the framework")
    ] = 1.0
    pod_gpus: Annotated[
        Count | None, Doc("GPUs under one full-bandwidth fabric; all unless given")
    ] = None
    pod_network: Annotated[Bandwidth | None, Doc("per GPU and direction, between pods")] = None
    node_memory: Annotated[Bytes, Doc("host memory of a node, for offload")] = 1024 * 2**30
    cpu_cores: Annotated[Count, Doc("cores of a node")] = 96
    price: Annotated[Price, Doc("of one GPU")] = 0.0
    reserved_power: Annotated[Watts | None, Doc("host, network and cooling, per GPU")] = None
    gpu_mtbf: Annotated[
        Positive | None,
        Doc("mean time between failures that end a job, of one GPU with its share of the rest"),
    ] = None
    storage_bandwidth: Annotated[
        Bandwidth | None, Doc("at which all nodes together write and read a checkpoint")
    ] = None
    node_storage: Annotated[
        Bandwidth | None,
        Doc("share of each node in it, where the whole, `storage_bandwidth`, is not given"),
    ] = None
    checkpoint_space: Annotated[
        Bytes | None, Doc("of that storage, for the checkpoints of a run")
    ] = None
    restart_time: Annotated[
        Seconds | None,
        Doc("from a failure to training again, but for reading the checkpoint"),
    ] = None
    env: Annotated[
        dict[str, str | int | bool],
        Doc(
            "variables of the environment that its network needs between nodes; a launch's own go before"
        ),
    ] = {}
    before: Annotated[
        tuple[str, ...],
        Doc(
            "settings as they were before `parc calibrate` fitted them, from which it starts again"
        ),
    ] = ()
    measured: Annotated[
        tuple[str, ...],
        Doc("layouts that ran here, and their measured over their predicted step time"),
    ] = ()

    def __hash__(self) -> int:
        """The hash of fields that tell clusters apart; `env` is a dict, which has none."""
        return hash((self.gpu, self.nodes, self.gpus_per_node, self.network))

    @property
    def domain(self) -> int:
        return self.nvlink_domain or self.gpus_per_node

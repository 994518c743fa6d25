"""Models and hand-built plans for tests of emitters and readers: nothing is parsed or solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parc.backends import BACKENDS
from parc.compiler.case import Case
from parc.compiler.plan import Estimate, Layout, Plan, Proof, Stage
from parc.compiler.time import context_exchange
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.job import AnyLaunch, Job, TargetSpec, Train
from parc.dsl.model import Model

GIB = 2**30

H100 = Gpu(
    name="h100_sxm",
    arch="sm90",
    memory=80 * GIB,
    memory_bandwidth=3.35e12,
    bf16=989e12,
    fp16=989e12,
    fp8=1979e12,
    nvlink=450e9,
    switch_sums=0.5,
)
A100 = Gpu(
    name="a100_80gb",
    arch="sm80",
    memory=80 * GIB,
    memory_bandwidth=2.039e12,
    bf16=312e12,
    fp16=312e12,
    nvlink=300e9,
)
B200 = Gpu(
    name="b200",
    arch="sm100",
    memory=180 * GIB,
    memory_bandwidth=8e12,
    bf16=2250e12,
    fp16=2250e12,
    fp8=4500e12,
    fp4=9000e12,
    nvlink=900e9,
)
V100 = Gpu(
    name="v100_32gb",
    arch="sm70",
    memory=32 * GIB,
    memory_bandwidth=0.9e12,
    fp16=125e12,
    nvlink=150e9,
)
MI300X = Gpu(
    name="mi300x",
    vendor="amd",
    arch="gfx942",
    memory=192 * GIB,
    memory_bandwidth=5.3e12,
    bf16=1307e12,
    fp16=1307e12,
    nvlink=448e9,
)
TPU_V5P = Gpu(
    name="tpu_v5p",
    vendor="google",
    arch="v5p",
    memory=95 * GIB,
    memory_bandwidth=2.765e12,
    bf16=459e12,
    nvlink=300e9,
)

GPT_125M = Model(
    name="gpt_125m",
    layers=12,
    hidden=768,
    heads=12,
    ffn=3072,
    vocab=50257,
    gated=False,
    norm="layernorm",
    position="learned",
    bias=True,
    tied=True,
)
GPT3_175B = Model(
    name="gpt3_175b",
    layers=96,
    hidden=12288,
    heads=96,
    ffn=49152,
    vocab=50257,
    gated=False,
    norm="layernorm",
    position="learned",
    bias=True,
    tied=True,
)
LLAMA3_8B = Model(
    name="llama3_8b",
    layers=32,
    hidden=4096,
    heads=32,
    kv_heads=8,
    ffn=14336,
    vocab=128256,
    rope_theta=500_000.0,
)
LLAMA3_405B = Model(
    name="llama3_405b",
    layers=126,
    hidden=16384,
    heads=128,
    kv_heads=8,
    ffn=53248,
    vocab=128256,
    rope_theta=500_000.0,
)
MIXTRAL_8X7B = Model(
    name="mixtral_8x7b",
    layers=32,
    hidden=4096,
    heads=32,
    kv_heads=8,
    ffn=14336,
    vocab=32000,
    rope_theta=1_000_000.0,
    experts=8,
    topk=2,
    expert_ffn=14336,
)
QWEN3_8B = Model(
    name="qwen3_8b",
    layers=36,
    hidden=4096,
    heads=32,
    kv_heads=8,
    head_dim=128,
    ffn=12288,
    vocab=151936,
    norm_eps=1e-6,
    rope_theta=1_000_000.0,
    qk_norm=True,
)
DEEPSEEK_V3 = Model(
    name="deepseek_v3",
    layers=61,
    hidden=7168,
    heads=128,
    ffn=18432,
    vocab=129280,
    norm_eps=1e-6,
    experts=256,
    topk=8,
    expert_ffn=2048,
    shared_experts=1,
    dense_layers=3,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_nope_head_dim=128,
    qk_rope_head_dim=64,
    v_head_dim=128,
    mtp_layers=1,
)

#: Eight GPUs side by side, ZeRO 1, no recomputation.
DP8 = Layout(dp_shard=8, zero=1, microbatches=16)


def train_of(**settings: object) -> Train:
    """A `Train` of 128 sequences of 4,096 tokens and 100 steps, with what is given instead or besides."""
    return Train.model_validate({"seq_len": 4096, "global_batch": 128, "steps": 100, **settings})


def sample_job(
    target: str,
    options: Any = None,
    *,
    model: Model = LLAMA3_8B,
    train: Train | None = None,
    gpu: Gpu = H100,
    nodes: Sequence[int] = (1,),
    gpus_per_node: int = 8,
    launch: AnyLaunch | None = None,
) -> Job:
    """A job with one target, as the checker would build it; spans are absent."""
    return Job(
        name=model.name,
        path=f"jobs/{model.name}.par",
        digest="0123456789abcdef" * 4,
        model=model,
        cluster=Cluster(
            name="pod", gpu=gpu, nodes=tuple(nodes), gpus_per_node=gpus_per_node, network=50e9
        ),
        train=train or Train(seq_len=4096, global_batch=128, tokens=10**12),
        targets=(TargetSpec(name=target, options=options),),
        launch=launch,
    )


def even_split(layers: int, pp: int, vpp: int) -> tuple[tuple[int, ...], ...]:
    """Layers of each virtual chunk per rank; what does not divide goes to the chunks after the first."""
    chunks = pp * vpp
    base, extra = divmod(layers, chunks)
    counts = [base + (1 <= index <= extra) for index in range(chunks)]
    return tuple(tuple(counts[chunk * pp + rank] for chunk in range(vpp)) for rank in range(pp))


def _exchange(job: Job, layout: Layout) -> str | None:
    backend = BACKENDS.get(job.targets[0].name)
    if backend is None or layout.cp == 1:
        return None
    case = Case(job, backend.target)
    return context_exchange.word(case, layout.tp, layout.cp, layout.micro_batch)


def sample_estimate(
    job: Job, layout: Layout, split: Sequence[Sequence[int]] | None = None
) -> Estimate:
    """A plausible price of `layout`; `split[rank]` holds the layers of each of its virtual chunks."""
    rows = split or even_split(job.model.layers, layout.pp, layout.vpp)
    memory = {"weights": 8, "gradients": 16, "optimizer": 12, "activations": 20, "buffers": 3}
    stages = tuple(
        Stage(
            index=rank,
            layers=tuple(row),
            embedding=rank == 0,
            head=rank == (0 if layout.v_shaped else layout.pp - 1),
            memory={term: gib * GIB for term, gib in memory.items()},
        )
        for rank, row in enumerate(rows)
    )
    return Estimate(
        layout=layout,
        stages=stages,
        capacity_bytes=job.cluster.gpu.memory,
        ceiling_bytes=job.cluster.gpu.memory * 92 // 100,
        time={"compute": 9.0, "tp": 1.0, "bubble": 0.5, "dp": 0.4, "optimizer": 0.1},
        step_seconds=11.0,
        mfu=0.44,
        mfu_full_attention=0.47,
        hfu=0.46,
        tokens_per_second=711_000.0,
        tflops_per_gpu=0.44 * (job.cluster.gpu.rate(job.train.precision) or 0.0) / 1e12,
        days=244.0,
        cost=1.1e6,
        energy_joules=1e12,
        bubble=0.045,
        cp_comm=_exchange(job, layout),
        step_spread=0.1,
        familiarity="software stack and GPU both calibrated on measured runs",
        memory_spread=0.08,
    )


def sample_plan(
    target: str,
    options: Any = None,
    *,
    model: Model = LLAMA3_8B,
    layout: Layout = DP8,
    train: Train | None = None,
    gpu: Gpu = H100,
    gpus_per_node: int | None = None,
    split: Sequence[Sequence[int]] | None = None,
    launch: AnyLaunch | None = None,
) -> Plan:
    """A plan whose parts agree: `nodes` and the default global batch follow from the layout."""
    per_node = gpus_per_node or min(8, layout.gpus)
    layout = layout.model_copy(update={"nodes": layout.gpus // per_node})
    sequences = layout.micro_batch * layout.microbatches * layout.dp
    job = sample_job(
        target,
        options,
        model=model,
        train=train or Train(seq_len=4096, global_batch=sequences, tokens=10**12),
        gpu=gpu,
        nodes=(layout.nodes,),
        gpus_per_node=per_node,
        launch=launch,
    )
    estimate = sample_estimate(job, layout, split)
    proof = Proof(
        status="OPTIMAL",
        objective="maximize mfu",
        value=0.44,
        bound=0.44,
        layouts=41_280,
        seconds=0.2,
    )
    return Plan(job=job, target=target, estimate=estimate, proof=proof)

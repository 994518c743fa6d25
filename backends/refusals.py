"""Features that several frameworks lack: one refusal each, with the framework's own lists."""

from ..compiler.target import Refusal
from ..dsl.job import Job
from ..dsl.unsupported import ACCELERATORS
from .capability import BLACKWELL, GEFORCE, capability


def gpu_name(job: Job) -> str:
    return job.cluster.gpu.name or "the GPU"


def accelerator(framework: str) -> Refusal:
    def asked(job: Job) -> str | None:
        if job.cluster.gpu.vendor in ("nvidia", "amd"):
            return None
        return f"{framework} runs on CUDA and ROCm, and {gpu_name(job)} has neither"

    return Refusal(
        "PAR320",
        "no-accelerator",
        "the accelerator has neither CUDA nor ROCm",
        asked,
        ("cluster", "gpu"),
        ACCELERATORS.instead,
    )


def optimizers(framework: str, *known: str) -> Refusal:
    """Refuses all optimizers but the known ones."""

    def asked(job: Job) -> str | None:
        chosen = job.train.optimizer
        return None if chosen in known else f"{framework} has no optimizer `{chosen}`"

    return Refusal(
        "PAR321",
        "no-optimizer",
        "the target lacks the optimizer",
        asked,
        ("train", "optimizer"),
        f"another optimizer; {framework} has {' and '.join(known)}",
        line=f"optimizer = {known[0]}",
    )


def feed_forwards(
    framework: str, gated: tuple[str, ...] = (), plain: tuple[str, ...] = ()
) -> Refusal:
    """Refuses all feed-forward blocks but those of the given activations."""
    known = [*(f"gated {name}" for name in gated), *(f"plain {name}" for name in plain)]

    def asked(job: Job) -> str | None:
        chosen = f"{'gated' if job.model.gated else 'plain'} {job.model.activation_name}"
        return None if chosen in known else f"{framework} has no {chosen} feed-forward block"

    return Refusal(
        "PAR322",
        "no-feed-forward",
        "the target lacks the feed-forward block",
        asked,
        ("model",),
        f"another block, which fits no published weights; {framework} has {' and '.join(known)}",
        (("model", "activation"), ("model", "gated")),
        f"gated = {str(bool(gated)).lower()}; activation = {(*gated, *plain)[0]}",
    )


def adapters(framework: str) -> Refusal:
    """Refuses jobs that train adapters."""

    def asked(job: Job) -> str | None:
        tune = job.train.tune
        return (
            f"{framework} trains no adapters here (`tune = {tune}`)" if job.train.adapters else None
        )

    return Refusal(
        "PAR332",
        "no-adapters",
        "the target trains no adapters",
        asked,
        ("train", "tune"),
        "all weights are trained, with four to eight times the memory; "
        "`target accelerate {}` and `target deepspeed { model = hf }` train adapters",
        line="tune = full",
    )


def causal_alone(framework: str) -> Refusal:
    return Refusal(
        "PAR323",
        "not-causal",
        "attention is not causal",
        lambda job: None if job.model.causal else f"{framework} trains only causal models",
        ("model", "causal"),
        "a token sees only those before it, another training",
        line="causal = true",
    )


def _scales_blocks(job: Job) -> bool:
    """Whether the GPU trains with scales of small blocks. Transformer Engine (pytorch/quantization.py) says:
    "MXFP8 (for all gemm layouts) is not supported on 12.0+ architectures yet"; nvfp4 fails there.
    """
    return BLACKWELL <= capability(job) < GEFORCE


def mxfp8(*archs: str) -> Refusal:
    """Refuses mxfp8 before Blackwell, save on the given chips of other makers."""

    def asked(job: Job) -> str | None:
        arch = job.cluster.gpu.arch
        if job.train.precision != "mxfp8" or _scales_blocks(job) or arch in archs:
            return None
        return (
            f"mxfp8 needs {_either(['Blackwell (sm100)', *archs])}, and {gpu_name(job)} is {arch}"
        )

    return Refusal(
        "PAR327",
        "no-mxfp8",
        "the GPU has no mxfp8",
        asked,
        ("train", "precision"),
        "slower and closer to fp32; fp8 is between",
        line="precision = bf16",
    )


def nvfp4() -> Refusal:
    """Refuses nvfp4 but on NVIDIA's GPUs from Blackwell on."""

    def asked(job: Job) -> str | None:
        gpu = job.cluster.gpu
        blackwell = gpu.vendor == "nvidia" and _scales_blocks(job)
        if job.train.precision != "nvfp4" or blackwell:
            return None
        return f"nvfp4 needs Blackwell (sm100), and {gpu_name(job)} is {gpu.arch}"

    return Refusal(
        "PAR387",
        "no-nvfp4",
        "the GPU has no nvfp4",
        asked,
        ("train", "precision"),
        "slower and closer to fp32; fp8 is between",
        line="precision = bf16",
    )


def multi_token_prediction(framework: str) -> Refusal:
    def asked(job: Job) -> str | None:
        depth = job.model.mtp_layers
        return (
            f"{framework} has no multi-token prediction (`mtp_layers = {depth}`)" if depth else None
        )

    return Refusal(
        "PAR356",
        "no-mtp",
        "the model predicts several tokens",
        asked,
        ("model", "mtp_layers"),
        "the model without its extra layers and their loss; `target megatron {}` has them",
        line="mtp_layers = 0",
    )


def precisions(framework: str, *known: str) -> Refusal:
    """Refuses all precisions but the known ones."""

    def asked(job: Job) -> str | None:
        chosen = job.train.precision
        return None if chosen in known else f"{framework} does not train in {chosen}"

    return Refusal(
        "PAR359",
        "no-precision",
        "the target lacks the precision",
        asked,
        ("train", "precision"),
        f"another rounding; {framework} trains in {_either(known)}",
        line=f"precision = {known[0]}",
    )


def _either(names: list[str] | tuple[str, ...]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last

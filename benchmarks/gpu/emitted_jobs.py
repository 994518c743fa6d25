"""Jobs for one GPU that parc emits and run.py trains: their files, and a line of the CSV each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import parc
from benchmarks.accuracy.rows.csv_rows import Row
from benchmarks.gpu.steps import Outcome
from parc.api import Planned, emit
from parc.backends import BACKENDS, OPTIONS
from parc.calibrate.measured_run import SECONDS
from parc.calibrate.steady_state import steady_state
from parc.commands.compile import output_files
from parc.compiler.plan import RECOMPUTE, Plan, Proof
from parc.dsl import Job, loads

#: Steps of each; the first of them warm up.
STEPS = 20
TITAN, DEEPSPEED = "0.2.2", "0.19"
RELEASES = {"torchtitan": TITAN, "deepspeed": DEEPSPEED}
#: What each target's block says beside its release: made-up tokens, no checkpoints.
SETTINGS = {
    "torchtitan": f'version = "{TITAN}"; save = false',
    "deepspeed": f'version = "{DEEPSPEED}"; save = none; adam = "torch"',
    "accelerate": "data = synthetic; save = none; log_interval = 1",
}
#: Adapters beside weights that are drawn: run.py leaves the folder out.
ADAPTERS = '; weights = "none"; tune = lora; adapter_rank = 16'


@dataclass(frozen=True)
class Trained:
    """`model` is what its block is made from, `settings` and `train` are further ones of the blocks
    of the target and of the training."""

    name: str
    title: str
    model: str
    target: str
    seq_len: int
    micro_batch: int
    microbatches: int
    recompute: str = "none"
    compile: bool = False
    settings: str = ""
    train: str = ""


LLAMA_1B = ("Llama-3.2-1B", "std.llama3_2_1b {}")
LLAMA_8B_8 = ("Llama-3-8B of 8 layers", "std.llama3_8b { layers = 8 }")
LLAMA_8B_12 = ("Llama-3-8B of 12 layers", "std.llama3_8b { layers = 12 }")
QWEN_MOE = (
    "Qwen3-30B-A3B of 4 layers",
    "std.qwen3_30b_a3b { layers = 4; aux_loss = 0; router_bias_rate = 0.001 }",
)
#: The most telling first: what is left out is left out at the end.
JOBS = (
    Trained("t-1b", *LLAMA_1B, "torchtitan", 4096, 2, 4),
    Trained("d-1b", *LLAMA_1B, "deepspeed", 4096, 2, 4),
    Trained("t-1b-compile", *LLAMA_1B, "torchtitan", 4096, 2, 4, compile=True),
    Trained("t-moe", *QWEN_MOE, "torchtitan", 4096, 1, 4),
    Trained("a-1b", *LLAMA_1B, "accelerate", 4096, 2, 4),
    Trained("a-1b-full", *LLAMA_1B, "accelerate", 4096, 4, 2, "full"),
    Trained("a-1b-lora", *LLAMA_1B, "accelerate", 4096, 4, 2, train=ADAPTERS),
    Trained("t-1b-selective", *LLAMA_1B, "torchtitan", 4096, 2, 4, "selective"),
    Trained("t-1b-full", *LLAMA_1B, "torchtitan", 4096, 2, 4, "full"),
    Trained("t-8b-8", *LLAMA_8B_8, "torchtitan", 4096, 2, 2),
    Trained("d-1b-hf", *LLAMA_1B, "deepspeed", 4096, 2, 4, settings="model = hf"),
    Trained("t-1b-32k-full", *LLAMA_1B, "torchtitan", 32_768, 1, 1, "full"),
    Trained("t-1b-8k", *LLAMA_1B, "torchtitan", 8192, 2, 2),
    Trained("d-1b-full", *LLAMA_1B, "deepspeed", 4096, 2, 4, "full"),
    Trained("t-8b-12-full", *LLAMA_8B_12, "torchtitan", 4096, 1, 2, "full"),
    Trained("t-1b-32k-compile", *LLAMA_1B, "torchtitan", 32_768, 1, 1, "full", compile=True),
    Trained("t-moe-full", *QWEN_MOE, "torchtitan", 4096, 2, 2, "full"),
)


def text_of(trained: Trained, gpu: str) -> str:
    """The job's file, for one GPU of the standard library."""
    settings = "; ".join(filter(None, (SETTINGS[trained.target], trained.settings)))
    batch = trained.micro_batch * trained.microbatches
    further = ("; compile = true" if trained.compile else "") + trained.train
    return (
        f"model m from {trained.model}\n"
        f"cluster one {{ gpu = std.{gpu}; nodes = 1; gpus_per_node = 1 }}\n"
        f"train {{ seq_len = {trained.seq_len}; global_batch = {batch}; steps = {STEPS}{further} }}\n"
        f"target {trained.target} {{ {settings} }}\n"
    )


def job_of(trained: Trained, gpu: str) -> Job:
    return loads(text_of(trained, gpu), f"{trained.name}.par", targets=OPTIONS)


def plan_of(trained: Trained, gpu: str) -> Plan:
    """The plan of its one layout, which nothing is searched for."""
    job = job_of(trained, gpu)
    layout = {
        "micro_batch": trained.micro_batch,
        "recompute": RECOMPUTE.index(trained.recompute),
        "zero": 0 if trained.target == "torchtitan" else 2,
    }
    given = Proof(status="GIVEN", objective="none", value=0, bound=0, layouts=1, seconds=0)
    estimate = parc.estimate(job, layout, trained.target)
    return Plan(job=job, target=trained.target, estimate=estimate, proof=given)


def files_of(plan: Plan) -> dict[str, str]:
    """The files that `parc compile --no-report` writes of the plan."""
    planned, emitted = emit(Planned(plan.job, (plan,)))
    return output_files(planned, emitted, report=False)


def outcome(job: Job, target: str, code: int, text: str, peak: int | None) -> Outcome:
    """Outcome of a job's run by its log; `peak` are the bytes that PyTorch reserved."""
    if "OutOfMemoryError" in text or "CUDA out of memory" in text:
        return Outcome(out_of_memory=True)
    log = BACKENDS[target].reader.log(text)
    if code or log is None:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "no output")
        return Outcome(failure=f"exit code {code}: {last.strip()[:200]}")
    paces = [(pace.step, SECONDS[log.unit](job, pace.value)) for pace in log.paces]
    found = steady_state(paces)
    if found is None:
        return Outcome(failure=f"{len(paces)} steps are too few")
    reserved = peak or (int(log.reserved) if log.reserved else None)
    return Outcome(seconds=found.seconds, peak_bytes=reserved)


def row(
    trained: Trained,
    plan: Plan,
    result: Outcome,
    gpu: str,
    about: str,
    year: int,
    device_bytes: int,
) -> dict[str, str]:
    """A line of the CSV; what it does not know stays empty. `gpu` is named as the CSV names it."""
    train, layout = plan.job.train, plan.layout
    notes = ["emitted by parc, run as it is on made-up tokens, no checkpoint"]
    notes += ["embeddings tied"] if plan.job.model.tied else []
    notes += ["Hugging Face's Llama"] if "hf" in trained.settings else []
    notes += [f"device {device_bytes / 2**30:.2f} GiB"] if device_bytes else []
    stated: dict[str, object] = {
        "id": f"own-{gpu.lower()}-{trained.name}", "source": f"own {trained.target} {gpu}",
        "where": f"benchmarks/gpu/run.py, {about}", "model": trained.title, **_model(plan.job),
        "gpu": gpu, "gpus": 1, "gpus_per_node": 1, "tp": 1, "sp": 0, "pp": 1, "cp": 1, "dp": 1,
        "zero_stage": layout.zero, "seq_len": train.seq_len, "mbs": trained.micro_batch,
        "gbs": train.global_batch, "recompute": trained.recompute, "precision": train.precision,
        "attention": "flash", "offload": 0, "oom": int(result.out_of_memory),
        "step_time_s": "" if result.seconds is None else f"{result.seconds:.5g}",
        "mem_gb": "" if not result.peak_bytes else f"{result.peak_bytes / 2**30:.3f}",
        "mem_counts": "reserved", "mem_unit": "GiB", "framework": trained.target,
        "framework_version": f"v{RELEASES[trained.target]}", "attention_kernel": "sdpa",
        "norm_kernel": "eager" if "hf" in trained.settings else "",
        "compile": int(trained.compile), "notes": "; ".join(notes),
    }  # fmt: skip
    return {name: str(stated.get(name, "")) for name in Row.__dataclass_fields__} | {
        "year": str(year)
    }


def _model(job: Job) -> Mapping[str, object]:
    model = job.model
    routed = {"experts": model.experts, "topk": model.topk, "ep": 1}
    experts = routed | {"moe_ffn_hidden": model.expert_width} if model.moe else {}
    return {
        "layers": model.layers, "hidden": model.hidden, "heads": model.heads,
        "kv_heads": model.kv_heads, "ffn_hidden": model.ffn, "gated_mlp": 1, "vocab": model.vocab,
        "head_dim": model.head_size, **experts,
    }  # fmt: skip

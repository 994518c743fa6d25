"""`Plan` -> the files of a DeepSpeed run, and the facts that they state."""

from collections.abc import Iterator
from typing import Any

from ....compiler.plan import Layout, Plan
from ....compiler.rules.validity import problems
from ....compiler.tuning.ledger import targets
from ....dsl.diagnostics import JobError
from ....dsl.job import Job
from ....reading.facts import Value
from ... import environment
from ...fabric import fabric
from ...health import checked, health
from ...huggingface.families import family
from ...languages import json, python
from ...link_words import link
from ...observation import curves, log_interval
from ...plan_facts import plan_facts
from ...rank_logs import rank_logs
from ...release_check import of_package
from ...released_options import releases
from ...render import provenance, render, render_python
from ...rendezvous import rendezvous
from ...run_folder import FILE, Checkpoints, run_json, run_values
from ...timeouts import first_seconds, later_seconds
from ..environment import VARIABLES, threads
from ..extra import broken_keys
from ..options import hugging_face, options_of
from ..target import ENTRY, TARGET
from .architecture import architecture, model_json
from .config import ds_config
from .data import launch_data, script_data
from .schedule import schedule_values, steps

GIB = 2**30
#: DeepSpeed names the newest checkpoint in the file `latest`, once all ranks have written theirs.
CHECKPOINTS = Checkpoints(
    lambda job: str(options_of(job).save),
    '[[ -f "$SAVE/latest" ]]',
    '[[ "$(cat -- "$PREVIOUS/latest" 2>/dev/null)" == step{steps} ]]',
)


def emit(plan: Plan) -> dict[str, str]:
    """Launch script, configuration, model sizes and training script.

    Raises `JobError` for what DeepSpeed cannot express.
    """
    if found := problems(plan.job, TARGET, plan.layout):
        raise JobError(found)
    config = ds_config(plan)
    if found := list(broken_keys(plan.job, config)):
        raise JobError(found)
    return {
        ENTRY: render("deepspeed/launch.sh.j2", _launch_values(plan)),
        "deepspeed/ds_config.json": json.document(config),
        f"deepspeed/{FILE}": run_json(plan),
        "deepspeed/model.json": json.document(model_json(plan)),
        "deepspeed/train.py": render_python("deepspeed/train.py.j2", _train_values(plan)),
        **_universal(plan),
        **health(plan),
    }


def elastic(plan: Plan) -> bool:
    """Whether starts go on from checkpoints of other layouts."""
    return plan.job.elastic and options_of(plan.job).save is not None


def _universal(plan: Plan) -> dict[str, str]:
    if not elastic(plan):
        return {}
    layout = plan.layout
    values = {
        "provenance": provenance(plan),
        "version": releases("deepspeed")[options_of(plan.job).version],
        "ranks": layout.dp * layout.cp if layout.zero else 0,
        "parts": layout.pp * layout.tp,
        "piped": layout.pp > 1,
        "zero": layout.zero,
    }
    path = "deepspeed/universal.py"
    return {path: render_python(f"{path}.j2", values)}


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that reading the files must give back, in a plan's words; Ulysses is not context parallelism."""
    layout = plan.layout
    return plan_facts(plan) | {
        "cp": 1,
        "ulysses": layout.cp,
        "hpz": layout.hpz,
        "offload": layout.offload_name,
        "microbatches": layout.microbatches,
    }


def _launch_values(plan: Plan) -> dict[str, Any]:
    job, options = plan.job, options_of(plan.job)
    return {
        "provenance": provenance(plan),
        "name": job.model.name or job.name,
        "summary": list(_summary(plan)),
        "rendezvous": rendezvous(plan),
        "check": of_package("DeepSpeed", "deepspeed", options.version),
        "health": checked(plan),
        "names_user": environment.names_user(job, options),
        "logs": rank_logs(plan, [0], "rank 0"),
        "environment": environment.lines(job, _variables(plan)),
        "run": run_values(plan, "SAVE" if options.save else None, CHECKPOINTS),
        "steps": steps(job.train),
        **launch_data(job),
        "weights": job.train.weights,
        "save": options.save,
        "elastic": elastic(plan),
        "save_interval": plan.checkpoint_interval,
        "tensorboard": curves(job, options)[0],
        "profile": options.profiled,
        "log_interval": log_interval(plan),
    }


def _variables(plan: Plan) -> tuple[environment.Variable, ...]:
    cluster = plan.job.cluster
    each = max(1, cluster.cpu_cores // cluster.gpus_per_node) if plan.layout.offload else 1
    return (*VARIABLES, threads(each), *fabric(plan))


def _summary(plan: Plan) -> Iterator[str]:
    """The layout, a line for each choice, with its number."""
    layout, estimate = plan.layout, plan.estimate
    ways = [f"dp {layout.dp}"]
    ways += [f"AutoTP {layout.tp}"] if layout.tp > 1 else []
    ways += [f"pp {layout.pp}"] if layout.pp > 1 else []
    ways += [f"Ulysses {layout.cp}"] if layout.cp > 1 else []
    batches = (
        "1 micro-batch" if layout.microbatches == 1 else f"{layout.microbatches} micro-batches"
    )
    yield f"{' x '.join(ways)} = {layout.gpus} GPUs, {batches} of {layout.micro_batch} a step."
    yield (
        f"Predicted {estimate.mfu:.1%} MFU, {estimate.memory_bytes / GIB:.1f} of "
        f"{estimate.capacity_bytes / GIB:.1f} GiB on the fullest rank."
    )
    yield ZERO_TEXT[layout.zero].format(ways=layout.dp * layout.cp)
    for kind, name in (("tp", "AutoTP"), ("cp", "Ulysses")):
        if said := link(plan, kind):
            yield f"{name} {getattr(layout, kind)}: {said}."
    if layout.offload:
        yield OFFLOAD_TEXT[layout.offload]
    if layout.hpz > 1:
        yield f"hpZ {layout.hpz}: the backward pass gathers weights inside a node, from a second copy there."
    if layout.pp > 1:
        yield f"Layers of each stage: {', '.join(str(sum(stage.layers)) for stage in estimate.stages)}."
    yield RECOMPUTE_TEXT[layout.recompute]
    if plan.job.train.compile and layout.zero == 3:
        yield "Not compiled: the module hooks of ZeRO 3 break every graph."


ZERO_TEXT = (
    "ZeRO 0: every rank holds weights, gradients and optimizer states.",
    "ZeRO 1: optimizer states divided over {ways} ranks.",
    "ZeRO 2: optimizer states and gradients divided over {ways} ranks.",
    "ZeRO 3: optimizer states, gradients and weights divided over {ways} ranks.",
)
OFFLOAD_TEXT = (
    "",
    "Optimizer states live in host memory, and the CPU updates them.",
    "Optimizer states and weights live in host memory, and the CPU updates them.",
)
RECOMPUTE_TEXT = (
    "No recomputation: all activations fit.",
    "The feed-forward half of each layer is recomputed in the backward pass.",
    "Each layer is recomputed in the backward pass from its input.",
)


def layout_facts(layout: Layout) -> str:
    """The layout as train.py prints it for `log.py`, without values that only the run knows."""
    numbers = {name: getattr(layout, name) for name in ("pp", "cp", "dp_shard", "zero", "hpz")}
    words = {"recompute": layout.recompute_name, "offload": layout.offload_name}
    return " ".join(f"{name}={value}" for name, value in {**numbers, **words}.items())


def _train_values(plan: Plan) -> dict[str, Any]:
    job, layout = plan.job, plan.layout
    return {
        **_run_values(plan),
        **architecture(job),
        "hf": hugging_face(job),
        "family": family(job),
        "model_type": family(job).lower(),
        "adapters": _adapters(job),
        "four_bits": job.train.tune == "qlora",
        "tp": layout.tp,
        "pp": layout.pp,
        "sp": layout.cp,
        "zero": layout.zero,
        "recompute": layout.recompute_name,
        "layout_facts": layout_facts(layout),
        "kv_copies": max(1, layout.cp // job.model.groups),
        # Ends of the names of vectors that do not decay, besides norms.
        "plain_ends": ("bias", "sinks") if job.model.attention_sinks else "bias",
    }


def _adapters(job: Job) -> dict[str, Any] | None:
    """Sizes of adapters in train.py, and the modules that have one by transformers' names."""
    adapters = job.train.adapters
    if adapters is None:
        return None
    names = (matrix.name for matrix in targets(job.model, adapters))
    return {
        "rank": adapters.rank,
        "alpha": f"{adapters.alpha:g}",
        "dropout": f"{adapters.dropout:g}",
        "modules": python.literal(list(names)),
    }


def _run_values(plan: Plan) -> dict[str, Any]:
    job, train, options = plan.job, plan.job.train, options_of(plan.job)
    return {
        "provenance": provenance(plan),
        "name": job.model.name or job.name,
        "layout_line": layout_line(plan),
        "deepspeed_version": releases("deepspeed")[options.version],
        "precision": train.precision,
        "torch_dtype": {"bf16": "bfloat16", "fp16": "float16"}[train.precision],
        "gpu": job.cluster.gpu.name or "GPU",
        "peak_flops": f"{job.peak_flops:.6g}",
        "compile": train.compile and plan.layout.zero < 3,
        **schedule_values(plan),
        **script_data(job),
        "weights": train.weights is not None,
        "follows": job.previous is not None,
        "carries_all": job.train.carry == "all",
        "checkpoint_interval": plan.checkpoint_interval,
        "keep": plan.checkpoints.keep,
        "elastic": elastic(plan),
        "first_timeout": f"{first_seconds(plan):g}",
        "later_timeout": f"{later_seconds(plan):g}",
        "log_interval": log_interval(plan),
        "tensorboard": curves(job, options)[0] is not None,
        "monitored": any(curves(job, options)),
        "profile": options.profiled,
    }


def layout_line(plan: Plan) -> str:
    layout = plan.layout
    parts = [f"ZeRO {layout.zero} on {layout.gpus} GPUs"]
    parts += [f"{layout.pp} pipeline stages"] if layout.pp > 1 else []
    parts += [f"AutoTP {layout.tp}"] if layout.tp > 1 else []
    parts += [f"Ulysses {layout.cp}"] if layout.cp > 1 else []
    parts += [f"offload {layout.offload_name}"] if layout.offload else []
    return ", ".join([*parts, f"recompute {layout.recompute_name}"])

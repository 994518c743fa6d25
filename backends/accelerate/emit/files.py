"""`Plan` -> the files of a run of TRL's trainer under accelerate, and the facts that they state."""

from collections.abc import Iterator
from typing import Any

from ....compiler.plan import Layout, Plan
from ....compiler.rules.validity import problems
from ....dsl.diagnostics import JobError
from ....reading.facts import Value
from ... import environment
from ...fabric import fabric
from ...health import checked, health
from ...languages import json, yaml
from ...plan_facts import plan_facts
from ...rank_logs import rank_logs
from ...release_check import of_package
from ...render import provenance, render, render_python
from ...rendezvous import rendezvous
from ...run_folder import FILE, Checkpoints, run_json, run_values
from ..environment import VARIABLES
from ..options import ACCELERATE, BITSANDBYTES, PEFT, TRANSFORMERS, TRL, options_of
from ..target import ENTRY, TARGET
from .arguments import accelerate_config, board, trainer_arguments
from .model_config import model_config

GIB = 2**30
#: The Trainer writes trainer_state.json last in the folder of a step.
CHECKPOINTS = Checkpoints(
    lambda job: str(options_of(job).save),
    'compgen -G "$SAVE/checkpoint-*/trainer_state.json" >/dev/null',
    '[[ -f "$PREVIOUS/checkpoint-{steps}/trainer_state.json" ]]',
)


def emit(plan: Plan) -> dict[str, str]:
    """Launch script, configurations and training script; raises `JobError` for what cannot be expressed."""
    if found := problems(plan.job, TARGET, plan.layout):
        raise JobError(found)
    origin = (provenance(plan),)
    return {
        ENTRY: render("accelerate/launch.sh.j2", _launch_values(plan)),
        "accelerate/accelerate.yaml": str(yaml.documents([accelerate_config(plan)], origin)),
        "accelerate/train.yaml": str(yaml.documents([trainer_arguments(plan)], origin)),
        "accelerate/config.json": json.document(model_config(plan.job)),
        f"accelerate/{FILE}": run_json(plan),
        "accelerate/train.py": render_python("accelerate/train.py.j2", _train_values(plan)),
        **health(plan),
    }


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that reading the files must give back, in a plan's words."""
    return plan_facts(plan) | {"microbatches": plan.layout.microbatches}


def _launch_values(plan: Plan) -> dict[str, Any]:
    job, options = plan.job, options_of(plan.job)
    parts = options.data.parts if options.data is not None else ()
    return {
        "provenance": provenance(plan),
        "name": job.model.name or job.name,
        "summary": list(_summary(plan)),
        "rendezvous": rendezvous(plan),
        "check": of_package("TRL", "trl", TRL),
        "health": checked(plan),
        "names_user": environment.names_user(job, options),
        "logs": rank_logs(plan, [0], "rank 0", torchrun=False),
        "environment": environment.lines(job, (*VARIABLES, *fabric(plan))),
        "run": run_values(plan, "SAVE" if options.save else None, CHECKPOINTS),
        "data": parts[0][0] if parts else None,
        "weights": job.train.weights,
        "save": options.save,
        "tensorboard": board(job),
    }


def _summary(plan: Plan) -> Iterator[str]:
    """The layout, a line for each choice, with its number."""
    layout, estimate = plan.layout, plan.estimate
    batches = (
        "1 micro-batch" if layout.microbatches == 1 else f"{layout.microbatches} micro-batches"
    )
    yield f"dp {layout.dp} = {layout.gpus} GPUs, {batches} of {layout.micro_batch} a step."
    yield (
        f"Predicted {estimate.mfu:.1%} MFU, {estimate.memory_bytes / GIB:.1f} of "
        f"{estimate.capacity_bytes / GIB:.1f} GiB on the fullest rank."
    )
    copies = f", in {layout.dp_replicate} copies" if layout.dp_replicate > 1 else ""
    yield f"FSDP2: weights, gradients and optimizer states divided over {layout.dp_shard} ranks{copies}."
    yield (
        "Weights are gathered for each pass of a layer, and freed after it."
        if layout.zero == 3
        else "Gathered weights stay from the forward to the backward pass of a micro-batch."
    )
    yield (
        "Each layer is recomputed in the backward pass from its input."
        if layout.recompute_name == "full"
        else "No recomputation: all activations fit."
    )


def layout_facts(layout: Layout) -> str:
    """The layout as train.py prints it for `read/log.py`, without the batch and the model."""
    numbers = {name: getattr(layout, name) for name in ("pp", "dp_shard", "zero", "micro_batch")}
    stated = {**numbers, "gpus": layout.gpus, "recompute": layout.recompute_name}
    return " ".join(f"{name}={value}" for name, value in stated.items())


def _announced(plan: Plan) -> str:
    """The layout, the batch and the sizes of the model."""
    model, train = plan.job.model, plan.job.train
    sizes = {
        "global_batch": train.global_batch,
        "seq_len": train.seq_len,
        "layers": model.layers,
        "hidden": model.hidden,
        "heads": model.heads,
        "kv_heads": model.groups,
        "ffn": model.ffn,
        "vocab": model.vocab,
    }
    told = " ".join(f"{name}={value}" for name, value in sizes.items())
    return f"{layout_facts(plan.layout)} {told}"


def _train_values(plan: Plan) -> dict[str, Any]:
    job = plan.job
    four_bits = job.train.tune == "qlora"
    tuned = "adapters beside frozen weights" if job.train.adapters else "all weights"
    names = [f"TRL {TRL}", f"transformers {TRANSFORMERS}", f"accelerate {ACCELERATE}"]
    names += [f"peft {PEFT}", *([f"bitsandbytes {BITSANDBYTES}"] if four_bits else [])]
    return {
        "provenance": provenance(plan),
        "name": job.model.name or job.name,
        "tuned": f"{tuned} in 4 bits" if four_bits else tuned,
        "four_bits": four_bits,
        "gpus": plan.layout.gpus,
        "announced": _announced(plan),
        "releases": f"{', '.join(names[:-1])} and {names[-1]}",
    }

"""`Plan` -> `megatron/pretrain.sh`: a script that starts one node's share of the job."""

from collections.abc import Iterator, Mapping
from itertools import chain

from ....compiler.plan import Layout, Plan
from ....compiler.rules.validity import problems
from ....dsl.diagnostics import Diagnostic, JobError
from ....reading.facts import Value
from ... import environment, extra
from ...health import checked, health
from ...languages import bash
from ...languages.bash import Bash
from ...observation import BOARD, curves
from ...plan_facts import plan_facts
from ...rank_logs import rank_logs
from ...render import nodes_text, provenance, render
from ...rendezvous import rendezvous
from ...run_folder import FILE, Checkpoints, run_json, run_values
from ..constraints import written
from ..constraints.layouts import sequence_parallel
from ..extra import given
from ..options import options_of
from ..releases import release_check
from ..target import ENTRY, TARGET
from .data import VARIABLE, data_flags, replaceable
from .environment import variables
from .experts import expert_flags
from .flags import Flag, names, rows
from .model import model_flags
from .parallel import memory_flags, parallel_flags
from .schedule import batch_flags
from .training import (
    checkpoint_flags,
    distributed_flags,
    kernel_flags,
    logging_flags,
    optimizer_flags,
    precision_flags,
)
from .weights import carries_all, converter, weight_flags, weight_variables

_GIB = 2**30
#: Megatron-LM's file that names the newest whole checkpoint.
NEWEST = "latest_checkpointed_iteration.txt"
CHECKPOINTS = Checkpoints(
    lambda job: options_of(job).checkpoints,
    f'[[ -f "$CHECKPOINT_DIR/{NEWEST}" ]]',
    f'[[ "$(cat -- "$PREVIOUS/{NEWEST}" 2>/dev/null)" == {{steps}} ]]',
)

#: The arrays of the script in their order.
GROUPS = {
    "MODEL": model_flags,
    "EXPERTS": expert_flags,
    "PARALLEL": parallel_flags,
    "BATCH": batch_flags,
    "OPTIMIZER": optimizer_flags,
    "PRECISION": precision_flags,
    "KERNELS": kernel_flags,
    "MEMORY": memory_flags,
    "DATA": data_flags,
    "CHECKPOINT": checkpoint_flags,
    "WEIGHTS": weight_flags,
    "DISTRIBUTED": distributed_flags,
    "LOGGING": logging_flags,
}


def emit(plan: Plan) -> dict[str, str]:
    """The script by its path; raises JobError for what Megatron-LM cannot express."""
    if found := problems(plan.job, TARGET, plan.layout):
        raise JobError(found)
    groups = {name: flags for name, build in GROUPS.items() if (flags := build(plan))}
    if found := _extra_problems(plan, names(groups.values())):
        raise JobError(found)
    if found := list(environment.problems(plan.job, variables(plan))):
        raise JobError(found)
    if keys := {item.name: key for key, item in given(plan.options)}:
        groups["EXTRA"] = [item for _, item in given(plan.options)]
        if found := list(written.problems(plan.job, chain(*groups.values()), keys)):
            raise JobError(found)
    script = render("megatron/pretrain.sh.j2", _values(plan, groups))
    run = {f"megatron/{FILE}": run_json(plan)}
    return {ENTRY: script, **run, **converter(plan), **health(plan)}


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that reading the script must give back, in a plan's words."""
    layout, model = plan.layout, plan.job.model
    found = plan_facts(plan) | {
        "experts": model.experts,
        "sequence_parallel": bool(sequence_parallel(plan.job, layout.tp)),
        "distributed_optimizer": layout.zero >= 1,
    }
    found |= {"offload": layout.offload_name} if layout.offload else {}
    return found | ({"etp": layout.etp} if model.moe else {})


def _values(plan: Plan, groups: Mapping[str, list[Flag]]) -> dict[str, object]:
    layout, cluster = plan.layout, plan.job.cluster
    gpus = f"{cluster.gpus_per_node} x {cluster.gpu.name or 'GPU'}"
    return {
        "provenance": provenance(plan),
        "title": f"{plan.job.name} on {nodes_text(layout.nodes)} of {gpus}",
        "summary": _summary(plan),
        "check": release_check(plan.job),
        "rendezvous": rendezvous(plan),
        "run": run_values(plan, "CHECKPOINT_DIR" if plan.options.save else None, CHECKPOINTS),
        "saves": plan.options.save,
        "variables": list(_variables(plan)),
        "carries_all": carries_all(plan.job),
        "converts": plan.job.train.weights is not None,
        "health": checked(plan),
        "names_user": environment.names_user(plan.job, plan.options),
        "logs": _logs(plan),
        "environment": environment.lines(plan.job, variables(plan)),
        "groups": [{"name": name, "rows": rows(found)} for name, found in groups.items()],
    }


def _logs(plan: Plan) -> dict[str, object]:
    """training.py has print_rank_0 for most, and print_rank_last for the losses."""
    last = plan.layout.gpus - 1
    whose = f"rank 0 and rank {last}, which prints the losses" if last else "rank 0"
    return rank_logs(plan, [0, last], whose)


def degrees(layout: Layout) -> str:
    """`tp 4 x pp 2 x dp 8 = 64 GPUs`, leaving out what is 1."""
    product = [("tp", layout.tp), ("pp", layout.pp), ("cp", layout.cp), ("dp", layout.dp)]
    text = " x ".join(f"{name} {degree}" for name, degree in product if degree > 1) or "dp 1"
    return f"{text} = {layout.gpus} GPU{'s' if layout.gpus > 1 else ''}"


def _summary(plan: Plan) -> list[str]:
    layout, estimate = plan.layout, plan.estimate
    degree = [f"zero {layout.zero}", f"micro-batch {layout.micro_batch} x {layout.microbatches}"]
    degree += [f"vpp {layout.vpp}"] if layout.vpp > 1 else []
    degree += [f"ep {layout.ep}, etp {layout.etp}"] if plan.job.model.moe else []
    degree += [f"offload {layout.offload_name}"] if layout.offload else []
    degree.append(f"recompute {layout.recompute_name}")
    used, ceiling = estimate.memory_bytes / _GIB, estimate.ceiling_bytes / _GIB
    return [
        f"{degrees(layout)}; {', '.join(degree)}.",
        f"Predicted {estimate.mfu:.1%} MFU, {estimate.step_seconds:.3g} s per step, "
        f"{used:.1f} of {ceiling:.1f} GiB on the fullest GPU.",
    ]


def _variables(plan: Plan) -> Iterator[Bash]:
    options = plan.options
    board, project = curves(plan.job, options)
    tensorboard = board or (BOARD if project or options.profiled else None)
    wanted = {
        "MEGATRON_PATH": options.path,
        VARIABLE: replaceable(options),
        "DATA_CACHE": options.data_cache,
        "TOKENIZER": options.tokenizer,
        "CHECKPOINT_DIR": options.checkpoints if options.save else None,
        **weight_variables(plan, options.checkpoints),
        "TENSORBOARD_DIR": tensorboard,
    }
    for key, value in wanted.items():
        if value is not None:
            yield bash.replaceable(key, str(value))


def _extra_problems(plan: Plan, taken: set[str]) -> list[Diagnostic]:
    return [
        extra.decided(plan.job, "megatron", key)
        for key, item in given(plan.options)
        if item.name in taken
    ]

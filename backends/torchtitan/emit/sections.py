"""Plan -> the tables of settings that a torchtitan job is made of, in reading order."""

import math

from ....compiler.plan import Plan
from .. import stack
from ..extra import written
from ..models import family, flavor
from ..options import Options, options_of
from ..releases import release
from . import reasons, running
from .section import Section, Setting
from .stages import counted, module_names

#: How torchtitan calls a schedule of the target's block.
SCHEDULES = {
    "1f1b": "1F1B",
    "interleaved": "Interleaved1F1B",
    "gpipe": "GPipe",
    "interleaved_zb": "InterleavedZeroBubble",
    "zbv": "ZBVZeroBubble",
    "dualpipev": "DualPipeV",
}
#: On by default where a release has it: two threads run passes of DualPipeV at once.
OVERLAP = "pipeline_parallel_expert_parallel_overlap"


def sections(plan: Plan) -> list[Section]:
    """Every table of train.toml, with what the job's `extra` adds."""
    options = options_of(plan.job)
    built = [
        _job(plan, options),
        _model(plan, options),
        _training(plan, options),
        _parallelism(plan),
        _recompute(plan),
        _optimizer(plan),
        running.schedule(plan),
        _compile(plan),
        *_quantize(plan),
        running.checkpoint(plan),
        running.communication(plan),
        running.metrics(plan),
        *_release(plan, options),
        *_debug(plan),
        Section(
            "experimental",
            {"custom_import": "parc_model"},
            {"custom_import": "registers the flavor"},
        ),
    ]
    return _with_extra(built, options)


def _release(plan: Plan, options: Options) -> list[Section]:
    """Tables that the releases call by different names."""
    if release(plan.job).python:
        return [*running.evaluator(options), *running.profile(plan, "profiler")]
    return [*running.evaluation(plan, options), *running.profile(plan, "profiling")]


def _with_extra(built: list[Section], options: Options) -> list[Section]:
    tables = {section.name: section for section in built}
    for name, value in options.extra.items():
        table, key = name.rsplit(".", 1)
        old = tables.get(table, Section(table, {}, {}))
        tables[table] = Section(
            table,
            {**old.settings, key: written(name, value, options.version)},
            {**old.comments, key: "from `extra`"},
        )
    return list(tables.values())


def _job(plan: Plan, options: Options) -> Section:
    """launch.sh names the folder; it is in the table too where it has no variable."""
    folder: dict[str, Setting] = (
        {} if "$" in options.dump_folder else {"dump_folder": options.dump_folder}
    )
    return Section("job", folder | {"description": plan.job.name}, {})


def _model(plan: Plan, options: Options) -> Section:
    settings: dict[str, Setting] = {
        "name": family(plan.job),
        "flavor": flavor(plan.job),
        "hf_assets_path": options.hf_assets_path,
    }
    converters = [
        f"quantize.{section.name.removeprefix('quantize.')}" for section in _quantize(plan)
    ]
    if converters:
        settings["converters"] = converters
    comments = {"flavor": "the sizes in parc_model.py", "hf_assets_path": "the tokenizer's folder"}
    return Section("model", settings, comments)


def _training(plan: Plan, options: Options) -> Section:
    train, layout = plan.job.train, plan.layout
    local = layout.micro_batch * (layout.microbatches if layout.pp > 1 else 1)
    settings, comments = running.dataset(options.data)
    settings |= {
        "seq_len": train.seq_len,
        "local_batch_size": local,
        "global_batch_size": train.global_batch,
        "steps": train.total_steps,
        "max_norm": train.clip_grad or math.inf,
        "mixed_precision_param": "bfloat16",
        "mixed_precision_reduce": "float32",
    }
    if release(plan.job).seed == "training":
        settings["seed"] = train.seed
    return Section("training", settings, comments | reasons.batch(plan))


def _debug(plan: Plan) -> list[Section]:
    seeded = release(plan.job).seed == "debug"
    return [Section("debug", {"seed": plan.job.train.seed}, {})] if seeded else []


def _parallelism(plan: Plan) -> Section:
    layout = plan.layout
    settings: dict[str, Setting] = {
        "data_parallel_replicate_degree": layout.dp_replicate,
        "data_parallel_shard_degree": layout.dp_shard,
    }
    if layout.zero > 0:
        settings["fsdp_reshard_after_forward"] = "always" if layout.zero == 3 else "never"
    settings |= {
        "tensor_parallel_degree": layout.tp,
        "context_parallel_degree": layout.cp,
        "expert_parallel_degree": layout.ep,
        # Without ep it has no effect, and experts are divided by tp (config/job_config.py:463).
        "expert_tensor_parallel_degree": layout.etp if layout.ep > 1 else 1,
        "pipeline_parallel_degree": layout.pp,
    }
    if layout.cp > 1 and plan.estimate.cp_comm == "p2p":
        settings["context_parallel_rotate_method"] = "alltoall"
    if layout.pp > 1:
        settings |= _pipeline(plan)
    if overlaps(plan) and not release(plan.job).python:
        settings["enable_async_tensor_parallel"] = True
    return Section("parallelism", settings, reasons.degrees(plan))


def overlaps(plan: Plan) -> bool:
    """Whether there is tensor-parallel traffic to run beside products, and it shall."""
    return options_of(plan.job).tp_overlap and plan.layout.tp > 1


def _pipeline(plan: Plan) -> dict[str, Setting]:
    layout, split = plan.layout, plan.estimate.split
    settings: dict[str, Setting] = {
        "pipeline_parallel_schedule": SCHEDULES[layout.schedule],
        "pipeline_parallel_microbatch_size": layout.micro_batch,
    }
    if layout.schedule == "dualpipev" and OVERLAP in release(plan.job).sections["parallelism"]:
        settings[OVERLAP] = False
    output = "lm_head" if release(plan.job).python else "output"
    numbers = counted(split)
    if numbers is None:
        return settings | {"module_fqns_per_model_part": module_names(split, output)}
    return settings | {
        "pipeline_parallel_layers_per_stage": numbers.layers_per_stage,
        "pipeline_parallel_first_stage_less_layers": numbers.first_less,
        "pipeline_parallel_last_stage_less_layers": numbers.last_less,
    }


def _recompute(plan: Plan) -> Section:
    settings: dict[str, Setting] = {"mode": plan.layout.recompute_name}
    if plan.layout.recompute == 1:
        settings["selective_ac_option"] = "op"
    return Section("activation_checkpoint", settings, {"mode": reasons.recompute(plan)})


def _optimizer(plan: Plan) -> Section:
    train = plan.job.train
    settings: dict[str, Setting] = {
        "name": "AdamW",
        "lr": train.learning_rate,
        "beta1": train.beta1,
        "beta2": train.beta2,
        "weight_decay": train.weight_decay,
    }
    return Section("optimizer", settings, {})


def _compile(plan: Plan) -> Section:
    chosen = {"model": plan.job.train.compile, "loss": stack.fused_loss(plan.job)}
    components = [name for name, compiled in chosen.items() if compiled]
    if not components:
        return Section("compile", {"enable": False}, {})
    settings: dict[str, Setting] = {"enable": True, "components": components}
    if overlaps(plan) and release(plan.job).python:
        settings["enable_async_tensor_parallel"] = True
    return Section("compile", settings, {})


def _quantize(plan: Plan) -> list[Section]:
    """Converters of fp8 and mxfp8: dense matrices, and expert products in an MoE model; both need torchao."""
    precision = plan.job.train.precision
    if precision not in ("fp8", "mxfp8"):
        return []
    skipped = ["output", "router.gate"] if plan.job.model.moe else ["output"]
    recipes = {
        "fp8": ("float8", options_of(plan.job).fp8_recipe),
        "mxfp8": ("mx", "mxfp8_cublas"),
    }
    kind, recipe = recipes[precision]
    linear: dict[str, Setting] = {"recipe_name": recipe, "filter_fqns": skipped}
    built = [Section(f"quantize.linear.{kind}", linear, {"filter_fqns": "stay in bf16"})]
    if plan.job.model.moe:
        fqns: dict[str, Setting] = {"fqns": ["experts"]}
        built.append(
            Section(f"quantize.grouped_mm.{kind}", fqns, {"fqns": "needs a nightly torchao"})
        )
    return built

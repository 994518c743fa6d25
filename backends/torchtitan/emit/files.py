"""Plan -> torchtitan's configuration, train.toml with parc_model.py or parc_job.py, and launch.sh."""

from ....compiler.plan import Plan
from ....compiler.rules.validity import problems
from ....dsl.diagnostics import JobError
from ....reading.facts import Value
from ... import environment
from ...health import checked, health
from ...languages import bash, python, toml
from ...languages.python import Python
from ...languages.toml import Toml
from ...plan_facts import plan_facts
from ...rank_logs import rank_logs
from ...release_check import of_package
from ...render import provenance, render, render_python
from ...rendezvous import rendezvous
from ...run_folder import FILE as RUN
from ...run_folder import Checkpoints, run_json, run_values
from .. import data
from ..extra import broken_settings
from ..models import flavor
from ..options import Options, options_of
from ..releases import release
from ..resume import POSITION
from ..target import ENTRY, TARGET
from .data_file import builds, data_file, needed, stands_in, untokenised
from .environment import variables
from .python_job import FILE, python_job
from .registration import registration, rope_scaling
from .section import Section
from .sections import sections

GIB = 2**30
#: Saves and leaves when a run is told to end.
STOP = "parc_stop.py"


def emit(plan: Plan) -> dict[str, str]:
    """The files by path; raises JobError for what the job's release of torchtitan cannot express."""
    if found := problems(plan.job, TARGET, plan.layout):
        raise JobError(found)
    settings = {
        f"{each.name}.{key}": value
        for each in sections(plan)
        for key, value in each.settings.items()
    }
    if stopped := list(broken_settings(plan.job, settings)):
        raise JobError(stopped)
    values = _values(plan)
    shared = {
        ENTRY: render("torchtitan/launch.sh.j2", values),
        f"torchtitan/{RUN}": run_json(plan),
        **data_file(plan),
        **health(plan),
    }
    if values["saves"]:
        shared[f"torchtitan/{STOP}"] = render_python(f"torchtitan/{STOP}.j2", values)
    if values["elastic"]:
        path = f"torchtitan/{POSITION}.py"
        shared[path] = render_python(f"{path}.j2", values)
    if release(plan.job).python:
        return {FILE: python_job(plan, _summary(plan)), **shared}
    values |= {
        "tables": [_table(section) for section in sections(plan)],
        "model": registration(plan.job),
        "job_model": plan.job.model,
        "seq_len": plan.job.train.seq_len,
        "rope_scaling": rope_scaling(plan.job.model),
        "run": _run(plan),
        "flash": options_of(plan.job).attention_kernel == "fa2",
        "repeated_attention": release(plan.job).repeated_attention and plan.layout.recompute == 1,
        "pipeline": pipeline_repairs(plan),
    }
    written = [
        "parc_model.py",
        *(["parc_pipeline.py"] if any(pipeline_repairs(plan).values()) else []),
    ]
    return {
        "torchtitan/train.toml": render("torchtitan/train.toml.j2", values),
        **{
            f"torchtitan/{name}": render_python(f"torchtitan/{name}.j2", values) for name in written
        },
        **shared,
    }


def _run(plan: Plan) -> dict[str, object]:
    """Fields of 0.2.2's TrainSpec that parc_model.py sets beside the model, and the imports they need."""
    imports: list[Python] = []
    spec: dict[str, Python] = {}
    if needed(plan):
        note = None if builds(plan) else "registers its data set"
        imports.append(python.noted(python.code("import parc_data"), note))
    if builds(plan):
        spec["build_dataloader_fn"] = python.name("parc_data.training_data")
    if untokenised(plan):
        stand_in = (
            python.name("parc_data.no_tokenizer") if stands_in(plan) else python.literal(None)
        )
        spec["build_tokenizer_fn"] = stand_in
    if data.evaluates(options_of(plan.job)):
        # Specs of deepseek_v3 and gpt_oss have none.
        imports.append(python.code("from torchtitan.components.validate import build_validator"))
        spec["build_validator_fn"] = python.name("build_validator")
    if any(pipeline_repairs(plan).values()):
        imports.append(python.code("import parc_pipeline"))
        original = python.name("original.pipelining_fn")
        spec["pipelining_fn"] = python.call("parc_pipeline.repaired", original)
    if options_of(plan.job).save:
        note = "saves before a run ends that is told to"
        imports.append(python.noted(python.code("import parc_stop"), note))
    if elastic(plan):
        note = "goes on in the data whatever dp was"
        imports.append(python.noted(python.code("import parc_position"), note))
    profiled = options_of(plan.job).profiled is not None
    return {"imports": imports, "spec": spec, "profile": profiled}


def pipeline_repairs(plan: Plan) -> dict[str, bool]:
    """Repairs of parc_pipeline.py: gradients as means, no logits kept, biases that count a step's tokens."""
    piped, written = plan.layout.pp > 1, release(plan.job)
    return {
        "means": piped and written.summed_losses,
        "drops": piped and written.kept_outputs,
        "biased": piped and plan.job.model.router_bias_rate > 0,
    }


def elastic(plan: Plan) -> bool:
    """Whether the run goes on from checkpoints of other numbers of data-parallel ranks."""
    return plan.job.elastic and options_of(plan.job).save


def facts(plan: Plan) -> dict[str, Value]:
    """Facts that reading the files must give back, in a plan's words."""
    return {**plan_facts(plan), "experts": plan.job.model.experts}


def _values(plan: Plan) -> dict[str, object]:
    job, options = plan.job, options_of(plan.job)
    return {
        "provenance": provenance(plan),
        "name": job.name,
        "version": release(job).name,
        "release": release(job).name,
        "check": of_package("torchtitan", "torchtitan", options.version),
        "health": checked(plan),
        "names_user": environment.names_user(job, options),
        "logs": _logs(plan),
        "environment": environment.lines(job, list(variables(plan))),
        "paths": _paths(plan),
        "replaced": _replaced(_paths(plan)),
        "weights": _weights(job.train.weights),
        "python": release(job).python,
        "saves": options.save,
        "run": run_values(plan, "DUMP_FOLDER" if options.save else None, _checkpoints(options)),
        "dump_folder": options.dump_folder,
        "checkpoints": options.checkpoint,
        "layout": plan.layout,
        "rendezvous": rendezvous(plan),
        "summary": _summary(plan),
        "flavor": flavor(job),
        "elastic": elastic(plan),
    }


def _checkpoints(options: Options) -> Checkpoints:
    """PyTorch writes .metadata last; a file of each step's folder that only a whole checkpoint has."""
    own = bash.inside(options.checkpoint)
    return Checkpoints(
        lambda job: f"{options_of(job).dump_folder}/{options_of(job).checkpoint}",
        f'compgen -G "$DUMP_FOLDER/{own}/step-*/.metadata" >/dev/null',
        '[[ -f "$PREVIOUS/step-{steps}/.metadata" ]]',
    )


def _logs(plan: Plan) -> dict[str, object]:
    """Every rank logs its memory, and -1 for the loss outside of the last stage (train.py:525 of 0.2.2)."""
    layout = plan.layout
    if layout.pp == 1 or layout.v_shaped:
        return rank_logs(plan, [0], "rank 0")
    first = layout.gpus // layout.pp * (layout.pp - 1)
    return rank_logs(plan, [0, first], f"rank 0 and rank {first}, whose stage has the loss")


def _paths(plan: Plan) -> list[str]:
    """Variables of the environment that replace paths of the configuration."""
    tokenizer = [] if untokenised(plan) else ["HF_ASSETS_PATH"]
    replaced = data.kind(options_of(plan.job).data) in ("named", "texts")
    return [*tokenizer, *(["DATASET_PATH"] if replaced else []), "DUMP_FOLDER"]


def _replaced(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last} replace" if others else f"{last} replaces"


def _weights(path: str | None) -> dict[str, object] | None:
    """A checkpoint's path in bash, and whether it may be a name of the Hugging Face hub instead."""
    if path is None:
        return None
    here = f"$HOME{path[1:]}" if path.startswith("~/") else path
    return {"path": here, "hub": not here.startswith(("/", ".", "$"))}


def _summary(plan: Plan) -> list[str]:
    layout, estimate = plan.layout, plan.estimate
    degrees = ("pp", "dp_replicate", "dp_shard", "cp", "tp")
    product = " × ".join(f"{name} {getattr(layout, name)}" for name in degrees)
    memory, ceiling = estimate.memory_bytes / GIB, estimate.ceiling_bytes / GIB
    return [
        f"{product} = {layout.gpus} GPUs",
        f"Predicted {100 * estimate.mfu:.1f} % MFU, {memory:.1f} of {ceiling:.1f} GiB on the fullest rank.",
    ]


def _table(section: Section) -> dict[str, object]:
    """A section's lines, comments aligned."""
    texts = {key: toml.setting(key, value) for key, value in section.settings.items()}
    ends = (len(texts[key].rsplit("\n", 1)[-1]) for key in texts if key in section.comments)
    width = max(ends, default=0)
    lines: list[Toml] = [
        toml.noted(text, section.comments[key], width) if key in section.comments else text
        for key, text in texts.items()
    ]
    return {"name": toml.table(section.name), "lines": lines}

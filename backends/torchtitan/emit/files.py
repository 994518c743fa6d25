"""Plan -> torchtitan's configuration, train.toml with parc_model.py or parc_job.py, and launch.sh."""

import json
import math

from ....compiler.plan import Plan
from ....compiler.rules.validity import problems
from ....dsl.diagnostics import JobError
from ....reading.facts import Value
from ...facts import plan_facts
from ...render import format_python, nodes_text, provenance, render
from ..models import flavor, registration
from ..options import options_of
from ..releases import release
from ..target import TARGET
from .python_job import FILE, python_job
from .sections import Section, Setting, sections

ENTRY = "torchtitan/launch.sh"
GIB = 2**30


def emit(plan: Plan) -> dict[str, str]:
    """The files by path; raises JobError for what the job's release of torchtitan cannot express."""
    if found := problems(plan.job, TARGET, plan.layout):
        raise JobError(found)
    values = _values(plan)
    launch = {ENTRY: render("torchtitan/launch.sh.j2", values)}
    if options_of(plan.job).version == "0.3":
        return {FILE: python_job(plan, _summary(plan)), **launch}
    values |= {
        "tables": [_table(section) for section in sections(plan)],
        "model": registration(plan.job, options_of(plan.job)),
    }
    return {
        "torchtitan/train.toml": render("torchtitan/train.toml.j2", values),
        "torchtitan/parc_model.py": format_python(render("torchtitan/parc_model.py.j2", values)),
        **launch,
    }


def facts(plan: Plan) -> dict[str, Value]:
    """What reading the files must give back, in a plan's words."""
    return {**plan_facts(plan), "experts": plan.job.model.experts}


def _values(plan: Plan) -> dict[str, object]:
    job, options = plan.job, options_of(plan.job)
    return {
        "provenance": provenance(plan),
        "name": job.name,
        "version": release(job).name,
        "python": options.version == "0.3",
        "layout": plan.layout,
        "gpus_per_node": job.cluster.gpus_per_node,
        "nodes_text": nodes_text(plan.layout.nodes),
        "summary": _summary(plan),
        "flavor": flavor(job),
    }


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
    texts = [f"{key} = {toml(value)}" for key, value in section.settings.items()]
    noted = [
        text for text, key in zip(texts, section.settings, strict=True) if key in section.comments
    ]
    width = max((len(text.rsplit("\n", 1)[-1]) for text in noted), default=0)
    lines = [
        f"{text.ljust(width)}  # {section.comments[key]}" if key in section.comments else text
        for text, key in zip(texts, section.settings, strict=True)
    ]
    return {"name": section.name, "lines": lines}


def toml(value: Setting) -> str:
    """A value as TOML writes it; a list of lists takes one line per inner list."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "inf" if math.isinf(value) else repr(value)
    if isinstance(value, list) and value and isinstance(value[0], list):
        return (
            "[\n"
            + "".join(f"    {toml(part)},\n" for part in value if isinstance(part, list))
            + "]"
        )
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value if isinstance(item, str)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

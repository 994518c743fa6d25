"""The choices for a first job -> the text of a job with comments, before it is formatted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from parc.backends import BACKENDS, TARGETS
from parc.dsl.syntax.quoting import quoted
from parc.dsl.tuning import USUAL

from .first_job import FirstJob

Line = tuple[str, str, str]


def job_text(job: FirstJob, left_out: Collection[str] = ()) -> str:
    """The job, without settings of the model that are `left_out`."""
    parts = [
        "\n".join(_head(job)),
        "\n".join([*_model(job, left_out), *_unsaid(job)]),
        "\n".join(_cluster(job)),
        "\n".join(_train(job)),
        "goal {\n  maximize mfu\n}",
        "\n".join(_targets(job)),
        "\n".join(_launch(job)),
    ]
    return "\n\n".join(parts) + "\n"


def _head(job: FirstJob) -> Iterator[str]:
    model = job.model
    read = f"{model.source} ({model.family})" if model.source else model.base
    yield f"# {model.name} on {job.gpus.count:,} GPUs, written by parc from {read}."
    yield "# `parc plan` says how it would run, `parc compile` writes the files that run it: edit it freely."


def _model(job: FirstJob, left_out: Collection[str]) -> Iterator[str]:
    model = job.model
    head = f"model {model.name}" + (f" from {model.base}" if model.base else "")
    yield f"# {job.parameters:,} parameters{job.counted.remark}"
    if model.assumed:
        yield f"# missing in {model.source}, transformers' default: {', '.join(model.assumed)}"
    if not model.settings:
        yield f"{head} {{}}"
        return
    lines = [(name, value_text(value), "") for name, value in model.settings.items()]
    yield f"{head} {{"
    yield from _changed(job)
    apart = {*left_out, *job.targets.changed}
    yield from _settings([line for line in lines if line[0] not in apart])
    for reason, names in _by_reason(job.targets.left_out).items():
        kept = [line for line in lines if line[0] in names]
        yield f"  # Left out, since {reason}:"
        yield from (f"  # {line.strip()}" for line in _settings(kept))
    yield "}"


def _changed(job: FirstJob) -> Iterator[str]:
    """Settings that differ from the library's, below the reason."""
    for reason, names in _by_reason(job.targets.changed).items():
        yield f"  # Changed, since {reason}:"
        yield from _settings([(name, value_text(job.model.settings[name]), "") for name in names])


def _by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        found.setdefault(reason, []).append(name)
    return found


def _unsaid(job: FirstJob) -> Iterator[str]:
    if job.model.unsaid:
        yield f"# What {job.model.source} says of the model and a job cannot, with what it does:"
        yield from (f"#   {each}" for each in job.model.unsaid)


def _cluster(job: FirstJob) -> Iterator[str]:
    gpus = job.gpus
    if gpus.assumed:
        yield "# GPUs were not named: in half of their memory weights, gradients and Adam's moments fit."
    if gpus.remark:
        yield f"# {gpus.remark}"
    lines: list[Line] = [("gpu", gpus.gpu, "")] if gpus.gpu else []
    lines.append(("nodes", str(gpus.nodes), f"{gpus.count:,} GPUs"))
    if gpus.per_node != job.usual_per_node:
        lines.append(("gpus_per_node", str(gpus.per_node), ""))
    yield f"cluster pod from std.{gpus.base} {{"
    yield from _settings(lines)
    yield "}"


def _train(job: FirstJob) -> Iterator[str]:
    reach = f"the model reaches {job.model.positions:,}" if job.model.positions else "tokens"
    lines: list[Line] = [
        ("seq_len", str(job.seq_len), reach),
        ("global_batch", job.batch_text, job.batch_remark),
        job.length,
        *_tuning(job),
    ]
    if job.gpu.bf16 is None:
        lines.append(("precision", "fp16", "these GPUs have no bf16"))
    if job.model.dropout:
        lines.append(("dropout", value_text(job.model.dropout), ""))
    yield "train {"
    yield from _settings(lines)
    if job.counted.stored and job.model.folder and not job.tuned:
        yield f"  # weights = {quoted(job.model.folder)}  # to go on from the weights that lie there"
    yield "}"


def _tuning(job: FirstJob) -> Iterator[Line]:
    if job.tuned is None:
        return
    yield "weights", quoted(job.tuned.weights), "the checkpoint to start from"
    yield "tune", job.tuned.tune, job.tuned.remark
    yield "learning_rate", job.tuned.rate, ""
    if job.tuned.tune != "full":
        yield "adapter_rank", str(USUAL.rank), ""


def _targets(job: FirstJob) -> Iterator[str]:
    for name in job.targets.names:
        said, remark = TARGETS[name].first
        if job.data is not None and job.data.form == TARGETS[name].reads_data:
            said, remark = f"data = {quoted(job.data.path)}", ""
        if (needed := job.targets.blocks.get(name)) is not None:
            said = "; ".join(each for each in (needed, said) if each)
        block = f"target {name} {{ {said} }}" if said else f"target {name} {{}}"
        yield f"{block}  # {remark}" if remark else block
    for name, reason in job.targets.refused.items():
        yield f"# no target {name}: {reason}"


#: What the first `launch` of each launcher says, with a remark.
_LAUNCHES = {
    "slurm": ('partition = "gpu"; time = 48 h', ""),
    "kubernetes": ('image = "train:latest"; volumes = ["runs:/runs"]', "a claim for checkpoints"),
    "hosts": ('hostfile = "hostfile"', "a host a line"),
    "skypilot": ('volumes = ["runs:/runs"]', "a volume of SkyPilot for checkpoints"),
    "ray": ('image = "train-ray:latest"; volumes = ["runs:/runs"]', "a claim for checkpoints"),
}


def _launch(job: FirstJob) -> Iterator[str]:
    if job.gpus.partition and job.launch in (None, "slurm"):
        yield f"launch slurm {{ partition = {quoted(job.gpus.partition)}; time = 48 h }}"
        return
    name = job.launch or "slurm"
    said, remark = _LAUNCHES[name]
    block = f"launch {name} {{ {said} }}"
    if job.launch is not None:
        yield f"{block}  # {remark}" if remark else block
        return
    if any(name in BACKENDS for name in job.targets.names):
        yield "# Files for SLURM as well:"
        yield f"# {block}"


def _settings(lines: Iterable[Line]) -> Iterator[str]:
    for name, value, remark in lines:
        text = f"  {name} = {value}"
        yield f"{text}  # {remark}" if remark else text


def value_text(value: int | float | bool | str) -> str:
    """A value as the language writes it: `1e-6`, `500000`, `true`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return str(int(value)) if whole else repr(value).replace("e-0", "e-")
    return str(value)

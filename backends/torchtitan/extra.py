"""`extra` of `target torchtitan`: settings of its configuration that no setting of the language writes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import extra
from ..extra import Value
from ..released_options import ReleasedOption, released_options, releases
from ..written_options import WrittenOptions, file_keys
from .constraints.settings import CODES as OF_ROWS
from .constraints.settings import CONSTRAINTS
from .option_rows import ROWS
from .options import options_of
from .releases import release
from .schema import MOVED

NEWEST = list(releases("torchtitan"))[-1]
UNKNOWN, WRONG = "PAR365", "PAR393"
CODES = {
    **extra.CODES,
    **OF_ROWS,
    UNKNOWN: ("unknown-setting", "a setting that torchtitan does not know"),
    WRONG: ("setting-kind", "`extra` gives a setting another kind of value than torchtitan takes"),
}

#: What changes time or memory, and no setting of the language says.
COSTS = (
    "activation_checkpoint.*", "compile.*", "debug.*", "experimental.*", "fault_tolerance.*",
    "optimizer.implementation", "optimizer.early_step_in_backward", "parallelism.*", "quantize.*",
    "training.debug_moe_force_load_balance", "training.deterministic",
)  # fmt: skip

#: How the text of a value must look beside its type, as a regular expression, and in words
#: (0.3.0 components/checkpointer/base.py:275, components/validate.py:92, config/configs.py:252; 0.2.2
#: components/checkpoint.py:298, config/job_config.py:979).
FORMS: Mapping[str, tuple[str, str]] = {
    "checkpoint.folder": (r"(?s).*\S.*", "the name of a folder"),
    "checkpoint.interval": (r"[1-9]\d*", "a number above 0"),
    "checkpoint.keep_latest_k": (r"0|[2-9]|[1-9]\d+", "0 or a number above 1"),
    "parallelism.context_parallel_load_balancer": (r"(?s).+", "the name of a load balancer"),
    "validation.steps": (r"-1|[1-9]\d*", "-1 or a number above 0"),
    "validator.steps": (r"-1|[1-9]\d*", "-1 or a number above 0"),
}
#: The same of 0.3.0 alone (components/checkpointer/base.py:291).
NEWEST_FORMS: Mapping[str, tuple[str, str]] = {
    "checkpoint.initial_load_path": (r"(?s)\s*(/|\w+://).*", "an absolute path, or an address"),
}
#: 0.3.0 trainer.py:118.
CHOICES: Mapping[str, tuple[str, ...]] = {"debug.batch_invariant": ("false",)}

#: Settings that every configuration has beside `extra`.
ALWAYS: Mapping[str, Value] = {"checkpoint.last_save_model_only": False}


def costs(key: str) -> bool:
    """Whether a key changes time or memory."""
    return extra.among(key, COSTS)


def known(version: str) -> Mapping[str, ReleasedOption]:
    """The settings of a release that a job can say; lists of lists it cannot."""
    return {
        name: replace(
            option,
            kind="list" if option.count else option.kind,
            choices=CHOICES.get(name, option.choices),
        )
        for name, option in released_options("torchtitan", version).items()
        if not (option.count and option.kind == "list")
    }


def written(key: str, value: Value, version: str) -> Value | list[str]:
    """The value as the field of the configuration holds it."""
    return extra.typed(known(version)[key], value)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Keys that the release does not know or the job decides, and values of another kind than it takes."""
    options = options_of(job)
    settings = known(options.version)
    for key, value in options.extra.items():
        span = job.span("target", "torchtitan", "extra", key)
        if key in ROWS.said and key in settings:
            continue  # `stack.problems` says which setting it has
        if extra.among(key, ROWS.decided):
            yield extra.decided(job, "torchtitan", key)
        elif key not in settings:
            message = f"torchtitan {release(job).name} has no setting `{key}`"
            yield Diagnostic(UNKNOWN, message, span, help=_elsewhere(key, options.version))
        elif words := _wanted(settings[key], value, options.version):
            message = f"`{key}` takes {words}, not `{extra.shown(value)}`"
            cure = did_you_mean(str(value), settings[key].choices)
            yield Diagnostic(WRONG, message, span, help=cure)
    yield from _written(job).of_extra(CONSTRAINTS, options.extra, ROWS.decided, ALWAYS)


def broken_settings(job: Job, settings: Mapping[str, object]) -> Iterator[Diagnostic]:
    """Rows that stop torchtitan, broken where a setting of `extra` takes part."""
    keys = {key: key for key in options_of(job).extra}
    if keys:
        yield from _written(job).problems(CONSTRAINTS, file_keys(settings), keys)


def _written(job: Job) -> WrittenOptions:
    return WrittenOptions(job, "torchtitan", "torchtitan", options_of(job).version)


def _wanted(option: ReleasedOption, value: Value, version: str) -> str | None:
    """The values that a setting takes, in words, where this one is not among them."""
    if words := extra.wanted_in_file(option, value):
        return words
    forms = {**FORMS, **(NEWEST_FORMS if version == NEWEST else {})}
    pattern, words = forms.get(option.name, ("(?s).*", ""))
    return None if re.fullmatch(pattern, extra.text_of(value)) else words


def _elsewhere(key: str, version: str) -> str:
    """Where a setting is in this release, the releases that have it, or one that is spelled alike."""
    moves = {**MOVED, **{after: before for before, after in MOVED.items()}}
    if moves.get(key) in known(version):
        return f"in this release it is `{moves[key]}`"
    found = extra.elsewhere("torchtitan", key, version)
    return found or "write section.key, such as comm.train_timeout_seconds"

"""A job's training and evaluation data -> arguments of launch.sh, and how train.py takes them."""

from typing import Any

from ....dsl.job import Job
from ....dsl.settings import Data, token_dtype
from ..options import evaluates, options_of

#: Sequences after which the order of a blend repeats, and so how fine its weights are.
BLEND_LENGTH = 10_000


def launch_data(job: Job) -> dict[str, Any]:
    """A single source is a variable with a default; those of a blend stand among the arguments."""
    options = options_of(job)
    valid = options.valid_data if evaluates(job) else None
    return {
        "data": _single(options.data),
        "blend": _blend(options.data),
        "valid_data": _single(valid),
        "valid_blend": _blend(valid),
        "data_dtype": _data_dtype(job) if _named(options.data) or _named(valid) else None,
        **_evaluation(job),
    }


def script_data(job: Job) -> dict[str, Any]:
    options = options_of(job)
    asked = (options.data, options.valid_data if evaluates(job) else None)
    return {
        "data_dtype": _data_dtype(job),
        "blended": any(data is not None and len(data.parts) > 1 for data in asked),
        "blend_length": BLEND_LENGTH,
        **_evaluation(job),
    }


def _evaluation(job: Job) -> dict[str, Any]:
    options = options_of(job)
    return {
        "evaluates": evaluates(job),
        "eval_interval": options.eval_interval,
        "eval_iters": options.eval_iters,
    }


def _named(data: Data | None) -> bool:
    return data is not None and not data.synthetic


def _single(data: Data | None) -> str | None:
    if data is None or len(data.parts) != 1:
        return None
    return data.parts[0][0]


def _blend(data: Data | None) -> list[dict[str, str]]:
    if data is None or len(data.parts) < 2:
        return []
    return [{"path": path, "weight": f"{weight:g}"} for path, weight in data.parts]


def _data_dtype(job: Job) -> str:
    return options_of(job).data_dtype or token_dtype(job.model.vocab)

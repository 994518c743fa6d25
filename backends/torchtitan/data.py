"""Data that `data` and `validation` name: torchtitan's data sets, text files, blends, or made-up tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from ...dsl.settings import Data
from .options import Options, options_of

#: Keys of DATASETS (hf_datasets/text_datasets.py of 0.2.2 and of 0.3.0), each in lower case.
NAMES = ("c4", "c4_test", "c4_validation")
#: The name under which emitted files register a loader of files.
TEXTS = "texts"
#: Kinds of files whose rows have a document in their column `text`.
SUFFIXES = (".json", ".jsonl", ".parquet")

Kind = Literal["synthetic", "named", "texts", "blend"]

UNKNOWN_DATA, NOT_EVALUATED = "PAR390", "PAR391"
CODES = {
    UNKNOWN_DATA: ("unknown-data", "a data set that torchtitan does not know"),
    NOT_EVALUATED: ("nothing-to-evaluate", "evaluation without data to evaluate on"),
}


@dataclass(frozen=True)
class Source:
    """A data set by torchtitan's name, where it lies unless torchtitan knows that, and its weight."""

    name: str
    path: str | None
    weight: float


def sources(data: Data) -> list[Source]:
    return [
        Source(TEXTS, text, weight) if is_path(text) else Source(text, None, weight)
        for text, weight in data.parts
    ]


def is_path(text: str) -> bool:
    """Whether a source is a file or a folder, of this machine or of the Hugging Face hub."""
    return "/" in text or text in (".", "..", "~") or PurePath(text).suffix in SUFFIXES


def kind(data: Data | None) -> Kind:
    """Tokens are made up where no data is said (a caution says so)."""
    if data is None or data.synthetic:
        return "synthetic"
    if len(data.parts) > 1:
        return "blend"
    return "texts" if is_path(data.parts[0][0]) else "named"


def evaluates(options: Options) -> bool:
    return options.validation is not None and options.eval_iters > 0


def problems(job: Job) -> Iterator[Diagnostic]:
    """Names that torchtitan does not know, and evaluation that is asked for without its data."""
    options = options_of(job)
    for key, data in (("data", options.data), ("validation", options.validation)):
        for text, _ in data.parts if data else ():
            if not is_path(text) and text not in NAMES:
                yield Diagnostic(
                    UNKNOWN_DATA,
                    f"torchtitan does not know the data set `{text}`",
                    job.span("target", "torchtitan", key),
                    help=did_you_mean(text, NAMES)
                    or f"{', '.join(NAMES)}, or a path, such as ./texts.jsonl",
                )
    asked = {"eval_interval", "eval_iters"} & options.model_fields_set
    if asked and options.eval_iters and options.validation is None:
        key = min(asked)
        yield Diagnostic(
            NOT_EVALUATED,
            f"`{key}` asks for evaluation, and `validation` names no data for it",
            job.span("target", "torchtitan", key),
            help='validation = "c4_validation", a path, or `synthetic`',
        )

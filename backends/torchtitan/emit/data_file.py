"""Plan -> torchtitan/parc_data.py, the data that torchtitan does not know by name, and who calls it."""

import re
from typing import Any

from ....compiler.plan import Plan
from ....dsl.settings import Data
from ...render import docstring, format_python, one_line, provenance, render
from .. import data, stack
from ..options import options_of
from ..releases import release

FILE = "torchtitan/parc_data.py"
#: Section of JobConfig -> function of parc_data.py that makes its data loader, and what is added to the seed.
BUILDERS = {"training": ("training_data", 0), "validation": ("validation_data", 1)}


def used(plan: Plan) -> dict[str, Data]:
    """What is trained and evaluated on, by 0.2.2's section."""
    options = options_of(plan.job)
    found = {"training": options.data or Data()}
    if data.evaluates(options) and options.validation is not None:
        found["validation"] = options.validation
    return found


def needed(plan: Plan) -> bool:
    return any(data.kind(each) != "named" for each in used(plan).values())


def data_file(plan: Plan) -> dict[str, str]:
    """The file by its path; none where torchtitan knows all data by name."""
    if not needed(plan):
        return {}
    job = plan.job
    written = release(job)
    kinds = {section: data.kind(each) for section, each in used(plan).items()}
    paths = [
        source.path
        for each in used(plan).values()
        for source in data.sources(each)
        if source.path is not None
    ]
    builders = [] if written.python else _builders(plan)
    values = {
        "provenance": provenance(plan),
        "name": docstring(one_line(job.name)),
        "release": written.name,
        "python": written.python,
        "modules": written.data,
        "synthetic": "synthetic" in kinds.values(),
        "blends": "blend" in kinds.values(),
        "blended_validation": written.python and kinds.get("validation") == "blend",
        "stands_in": stands_in(plan),
        "texts": bool(paths),
        "texts_path": repr(paths[0]) if paths else "",
        "vocabulary": job.model.vocab,
        "builders": builders,
        "validation_builder": any(each["section"] == "validation" for each in builders),
    }
    return {FILE: format_python(render("torchtitan/parc_data.py.j2", values))}


def _builders(plan: Plan) -> list[dict[str, Any]]:
    """Data loaders of 0.2.2 that torchtitan's own builder cannot make."""
    return [
        {
            "section": section,
            "function": BUILDERS[section][0],
            "kind": data.kind(each),
            "seed": plan.job.train.seed + BUILDERS[section][1],
            "parts": repr([(source.name, source.path) for source in data.sources(each)]),
            "weights": repr([source.weight for source in data.sources(each)]),
        }
        for section, each in used(plan).items()
        if data.kind(each) in ("synthetic", "blend")
    ]


def builds(plan: Plan) -> bool:
    """Whether parc_data.py makes the data loader of 0.2.2's training."""
    return any(each["section"] == "training" for each in _builders(plan))


def untokenised(plan: Plan) -> bool:
    """Whether no text is read, so that no tokenizer's files are needed."""
    return all(data.kind(each) == "synthetic" for each in used(plan).values())


def stands_in(plan: Plan) -> bool:
    """Whether 0.2 asks for a tokenizer that nothing is read with: FlexAttention does (0.2.2 train.py:459)."""
    return (
        not release(plan.job).python and untokenised(plan) and stack.attention(plan.job) == "flex"
    )


def loaders(plan: Plan) -> dict[str, list[str]]:
    """0.3.0: lines of the configuration of each data loader, by 0.2.2's section."""
    return {
        section: _loader(each, plan.job.train.seed + BUILDERS[section][1], section == "training")
        for section, each in used(plan).items()
    }


def loader_names(plan: Plan) -> list[str]:
    """What parc_job.py imports from torchtitan.hf_datasets.text_datasets."""
    text = " ".join(line for lines in loaders(plan).values() for line in lines)
    known = (
        "HFDataSource(",
        "HuggingFaceTextDataLoader.",
        "InterleavedHuggingFaceTextDataLoader.",
    )
    found = [name for name in known if re.search(rf"\b{re.escape(name)}", text)]
    return [name.rstrip("(.") for name in found]


def _loader(chosen: Data, seed: int, training: bool) -> list[str]:
    kind, found = data.kind(chosen), data.sources(chosen)
    if kind == "synthetic":
        return [f"parc_data.MadeUpLoader.Config(seed={seed},"]
    if kind == "blend":
        parts = [
            f"HFDataSource(dataset={source.name!r}, dataset_path={source.path!r}, weight={source.weight!r}),"
            for source in found
        ]
        loader = "InterleavedHuggingFaceTextDataLoader" if training else "parc_data.EvaluatedBlend"
        opening = f"{loader}.Config(seed={seed},"
        return [opening, "# Shares of the sequences.", "sources=[", *parts, "],"]
    (source,) = found
    path = "" if source.path is None else f", {source.path!r}"
    shown = f'os.environ.get("DATASET_PATH"{path})' if training else repr(source.path)
    return [
        "HuggingFaceTextDataLoader.Config(",
        f"dataset={source.name!r},",
        f"dataset_path={shown},",
    ]

"""Plan -> torchtitan/parc_data.py, the data that torchtitan does not know by name, and who calls it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ....compiler.plan import Plan
from ....dsl.settings import Data
from ...languages import python
from ...languages.python import Python
from ...render import format_python, provenance, render
from .. import data, stack
from ..options import options_of
from ..releases import release

FILE = "torchtitan/parc_data.py"
#: torchtitan.hf_datasets.text_datasets of 0.3.0
_SOURCE = python.name("HFDataSource")
_SINGLE = python.name("HuggingFaceTextDataLoader")
_BLEND = python.name("InterleavedHuggingFaceTextDataLoader")
#: Section of JobConfig -> function of parc_data.py that makes its data loader, and what is added to the seed.
BUILDERS = {"training": ("training_data", 0), "validation": ("validation_data", 1)}


def used(plan: Plan) -> dict[str, Data]:
    """Data of training and evaluation, by 0.2.2's section."""
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
        "name": job.name,
        "release": written.name,
        "python": written.python,
        "elastic": job.elastic and options_of(job).save,
        "modules": written.data,
        "synthetic": "synthetic" in kinds.values(),
        "blends": "blend" in kinds.values(),
        "blended_validation": written.python and kinds.get("validation") == "blend",
        "stands_in": stands_in(plan),
        "texts": bool(paths),
        "texts_path": paths[0] if paths else None,
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
            "parts": [(source.name, source.path) for source in data.sources(each)],
            "weights": [source.weight for source in data.sources(each)],
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


@dataclass(frozen=True)
class Loader:
    """The class of a data loader of 0.3.0, and the lines of its configuration."""

    name: Python
    lines: tuple[Python, ...]


def loaders(plan: Plan) -> dict[str, Loader]:
    """The data loaders of 0.3.0 by 0.2.2's section."""
    return {
        section: _loader(each, plan.job.train.seed + BUILDERS[section][1], section == "training")
        for section, each in used(plan).items()
    }


def loader_names(plan: Plan) -> Python:
    """Names that parc_job.py imports from torchtitan.hf_datasets.text_datasets."""
    blends = any(data.kind(each) == "blend" for each in used(plan).values())
    classes = sorted({loader.name for loader in loaders(plan).values() if "." not in loader.name})
    return python.listing([*([_SOURCE] if blends else []), *classes])


def _loader(chosen: Data, seed: int, training: bool) -> Loader:
    kind, found = data.kind(chosen), data.sources(chosen)
    if kind == "synthetic":
        return Loader(python.name("parc_data.MadeUpLoader"), (python.argument("seed", seed),))
    if kind == "blend":
        name = _BLEND if training else python.name("parc_data.EvaluatedBlend")
        return Loader(name, (python.argument("seed", seed), *_sources(found)))
    (source,) = found
    path = [] if source.path is None else [python.literal(source.path)]
    asked = python.call("os.environ.get", python.literal("DATASET_PATH"), *path)
    chosen_path = asked if training else source.path
    lines = python.argument("dataset", source.name), python.argument("dataset_path", chosen_path)
    return Loader(_SINGLE, lines)


def _sources(found: Iterable[data.Source]) -> Iterator[Python]:
    yield python.remark("Shares of the sequences.")
    yield python.code("sources=[")
    for each in found:
        named = {"dataset": each.name, "dataset_path": each.path, "weight": each.weight}
        yield python.item(python.call(_SOURCE, **named))
    yield python.code("],")

"""Facts have one vocabulary: every fact that is read is listed, and plans and jobs call it the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.compiler.plan import Layout
from parc.dsl.hardware import Cluster
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.reading.vocabulary import FACTS, JOB, LAYOUT, SLURM
from tests.support.paths import CASES, GOLDEN, ROOT

#: What no table of a plan or a job has as a field: two sums over fields.
SUMS = {"gpus", "dp"}


def launch_files() -> Iterator[Mapping[str, str]]:
    """The emitted files of every example, and the cases of every rule."""
    folders = [folder for folder in GOLDEN.glob("*/*") if folder.name in BACKENDS]
    for folder in [*folders, *CASES.glob("lint/*/*")]:
        yield {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in ("printed.txt", "job.par")
        }


def test_every_fact_that_is_read_is_listed() -> None:
    found = {
        fact.name for files in launch_files() for job in read_jobs(files) for fact in job.facts
    }
    assert found <= set(FACTS) | set(SLURM)
    assert len(found) > 30


def test_plans_and_jobs_have_the_same_names() -> None:
    fields = {*Layout.model_fields, *Cluster.model_fields, *SUMS}
    assert set(LAYOUT) <= fields
    assert set(JOB) <= {*Model.model_fields, *Train.model_fields}


def test_the_page_lists_them_all() -> None:
    page = (Path(ROOT) / "docs" / "reading.md").read_text(encoding="utf-8")
    assert [name for name in FACTS if f"`{name}`" not in page] == []

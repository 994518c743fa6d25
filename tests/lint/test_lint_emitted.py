"""What parc emits lints clean, with and without its job; wrong edits of it are found."""

from __future__ import annotations

import pytest

import parc
from benchmarks.lint import lint_mutations
from parc.dsl.diagnostics import Diagnostic
from parc.lint.judging import LintOptions
from parc.lint.launch_texts import read_texts
from parc.lint.run import lint_texts
from tests.support.paths import ROOT

GOLDEN = ROOT / "tests" / "golden"
EXAMPLES = sorted(path.name for path in GOLDEN.iterdir())
#: Solved in a second or two; `benchmarks/lint/lint_mutations.py` and CI's goldens cover the others.
QUICK = [
    name for name in EXAMPLES if name in ("gpt_125m", "llama3_8b", "llama3_70b", "mixtral_8x7b")
]


def said(example: str, options: LintOptions) -> list[Diagnostic]:
    """Findings in every target's files, alone and with their batch script."""
    found: list[Diagnostic] = []
    for target in ("megatron", "deepspeed", "torchtitan"):
        folder, batch = GOLDEN / example / target, GOLDEN / example / "slurm" / f"{target}.sbatch"
        if not folder.is_dir():
            continue
        files = sorted(folder.iterdir())
        for paths in (files, [batch], [batch, *files]) if batch.exists() else (files,):
            for judged in lint_texts(read_texts(paths).texts, options, {}):
                found += [each.diagnostic for each in judged.findings]
    return found


@pytest.mark.parametrize("example", EXAMPLES)
def test_emitted_files_are_clean(example: str) -> None:
    assert [str(each) for each in said(example, LintOptions())] == []


@pytest.mark.parametrize("example", QUICK)
def test_emitted_files_do_not_drift_from_their_job(example: str) -> None:
    job = parc.load(ROOT / "examples" / f"{example}.par")
    assert [str(each) for each in said(example, LintOptions(job=job))] == []


def test_a_folder_of_all_targets_is_clean() -> None:
    texts = read_texts([GOLDEN / "llama3_8b"]).texts
    assert len(texts) >= 6
    found = [each for judged in lint_texts(texts, LintOptions(), {}) for each in judged.findings]
    assert [str(each.diagnostic) for each in found] == []


@pytest.mark.parametrize("backend", lint_mutations.MUTATIONS)
def test_wrong_edits_are_found(backend: str) -> None:
    count = 40
    alive = lint_mutations.survivors(backend, count, seed=7)
    assert len(alive) <= 0.05 * count, alive


@pytest.mark.parametrize("name", lint_mutations.OTHERS)
def test_jobs_of_other_formats_are_clean_before_they_are_edited(name: str) -> None:
    for files in lint_mutations.jobs(name).values():
        judged = lint_texts(files, LintOptions(), {})
        assert judged and all(each.known >= 5 for each in judged)
        assert not [one for each in judged for one in each.findings if one.severity == "error"]

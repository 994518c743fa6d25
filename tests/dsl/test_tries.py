"""What a newcomer writes: each wrong try has a cure as edits, which are applied and leave a sound job."""

from __future__ import annotations

import pytest

from parc.backends import BACKENDS
from parc.dsl import Job, JobError, Source, loads
from parc.dsl.fixes import applied
from tests.support.borrowed_tries import ABSENT, BORROWED_TRIES
from tests.support.foreign_tries import FOREIGN_TRIES
from tests.support.wrong_tries import RIGHT, TRIES, changed

OPTIONS = {name: backend.target.options for name, backend in BACKENDS.items()}


def read(text: str) -> Job:
    return loads(text, targets=OPTIONS)


def cured(text: str) -> str:
    """The text after its cures, and the cures of what is left, until nothing is wrong."""
    for _ in range(5):
        try:
            read(text)
        except JobError as error:
            fixes = [each.fix for each in error.diagnostics if each.fix]
            assert fixes, error
            text, count = applied(Source("job.par", text), fixes)
            assert count
        else:
            return text
    raise AssertionError(text)


ALL_TRIES = TRIES | FOREIGN_TRIES | BORROWED_TRIES


@pytest.mark.parametrize(("right", "wrong", "cure"), ALL_TRIES.values(), ids=ALL_TRIES)
def test_a_wrong_try_is_cured(right: str, wrong: str, cure: str) -> None:
    text = changed(right, wrong)
    with pytest.raises(JobError):
        read(text)
    assert cured(text) == changed(right, cure)


@pytest.mark.parametrize(("before", "after"), RIGHT.values(), ids=RIGHT)
def test_a_right_try(before: str, after: str) -> None:
    read(changed(before, after))


@pytest.mark.parametrize(("right", "wrong", "said"), ABSENT.values(), ids=ABSENT)
def test_what_the_language_lacks_is_said(right: str, wrong: str, said: str) -> None:
    with pytest.raises(JobError) as error:
        read(changed(right, wrong))
    assert any(said in (each.help or "") for each in error.value.diagnostics)


def test_one_complaint_about_a_missing_brace() -> None:
    with pytest.raises(JobError) as error:
        read(changed("1T\n}\n", "1T\n\n"))
    (said,) = error.value.diagnostics
    assert said.message == "`train {` is not closed before `target`"


def test_no_try_stands_twice() -> None:
    assert len(ALL_TRIES) == len(TRIES) + len(FOREIGN_TRIES) + len(BORROWED_TRIES)
    assert len({wrong for _, wrong, _ in ALL_TRIES.values()}) == len(ALL_TRIES) > 150

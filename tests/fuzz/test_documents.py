"""A YAML, TOML or JSON, whatever its anchors and keys stand for, is read, judged and imported in a moment.

`make fuzz` draws 100,000 of them; a number in a failure is a seed of `document`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parc.dsl.diagnostics import JobError
from parc.dsl.inputs.documents import yaml_nodes
from parc.reading.huggingface.config_settings import read_model
from tests.fuzz.document_grammar import KINDS, document
from tests.fuzz.readers import launch_file
from tests.fuzz.test_readers import peak_bytes

#: Documents of all kinds, and the parts in which those of a kind are tried.
DOCUMENTS = int(os.environ.get("PARC_FUZZ_DOCUMENTS", "120"))
PARTS = 1 if DOCUMENTS < 1_000 else 10
#: What no document may take: seconds of the processor, and bytes more than those before it.
MOST_SECONDS, MOST_BYTES = 2.0, 300 * 10**6


def described(text: str, folder: Path) -> None:
    """What `parc import` and `parc init` make of a config.json."""
    path = folder / "config.json"
    path.write_text(text, errors="replace")
    try:
        read_model(str(path), path.read_text())
    except JobError as error:
        assert error.diagnostics and str(error)


def answer(kind: str) -> Callable[[str, Path], None]:
    return described if kind == "config.json" else launch_file(kind)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_read_in_a_moment(
    kind: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read, count = answer(kind), DOCUMENTS // len(KINDS) // PARTS
    read(document(kind, 0), tmp_path)
    before = peak_bytes()
    for seed in range(part * count, (part + 1) * count):
        started = time.process_time()
        try:
            read(document(kind, seed), tmp_path)
        except Exception as error:
            raise AssertionError(f"document {kind} {seed}") from error
        assert time.process_time() - started < MOST_SECONDS, f"document {kind} {seed}"
        assert peak_bytes() - before < MOST_BYTES, f"document {kind} {seed}"


def test_the_grammar_reaches_what_is_refused_and_what_is_read(tmp_path: Path) -> None:
    """Both sides of the limits are drawn, so that the test above tries them."""
    said: list[str] = []
    for seed in range(400):
        try:
            said.append(f"read {len(yaml_nodes(document('config.yaml', seed)))}")
        except ValueError as error:
            said.append(str(error))
    for part in ("read 1", "aliases followed", "holds itself", "nested more than 32", "line "):
        assert any(part in each for each in said), part
    assert sum(each.startswith("read") for each in said) > 100

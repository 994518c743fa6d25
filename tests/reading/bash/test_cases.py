"""Scripts under tests/cases/bash: the launched words are those of the text file, and those of bash itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from parc.reading.bash.values import Word
from parc.reading.facts import Unknown
from tests.support.bash_launches import launches
from tests.support.paths import CASES

FOLDER = sorted((CASES / "bash").glob("*.sh"))
ONLY_READER = "# reader only"
RECORDER = '#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done >> "$RECORD"\nprintf "\\n\\0" >> "$RECORD"\n'
#: Stands in for srun: its options are of no interest here.
STEP = '#!/bin/sh\nwhile [ "$1" != bash ]; do shift; done\nexec "$@"\n'


def arguments(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.startswith("# arguments: ")]
    return lines[0].removeprefix("# arguments: ").split() if lines else []


def shown(word: Word) -> str:
    text = word.text
    if not isinstance(text, Unknown):
        return text.replace("\n", "\\n")
    one_of = f" (one of {', '.join(text.alternatives)})" if text.alternatives else ""
    return f"? {text.reason}{one_of}"


@pytest.mark.parametrize("path", FOLDER, ids=lambda path: path.stem)
def test_words_are_those_of_the_case(path: Path, update: bool) -> None:
    text = path.read_text()
    found = launches(text, arguments=arguments(text))
    commands = [
        "\n".join(f"{word.line}:{word.column} {shown(word)}" for word in launch.words)
        for launch in found
    ]
    expected = path.with_suffix(".txt")
    if update:
        expected.write_text("\n\n".join(commands) + "\n")
    assert "\n\n".join(commands) + "\n" == expected.read_text()


@pytest.mark.parametrize(
    "path",
    [path for path in FOLDER if ONLY_READER not in path.read_text()],
    ids=lambda path: path.stem,
)
def test_bash_passes_the_same_words(path: Path, tmp_path: Path) -> None:
    for name, program in (
        ("torchrun", RECORDER),
        ("srun", STEP),
        ("nohup", '#!/bin/sh\nexec "$@"\n'),
    ):
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)
    text = path.read_text()
    record = tmp_path / "record"
    record.touch()
    subprocess.run(
        ["bash", str(path), *arguments(text)],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "RECORD": str(record)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
    )
    passed = [call.split("\0")[:-1] for call in record.read_text().split("\n\0")[:-1]]
    read = [
        [word.text for word in launch.words[1:]]
        for launch in launches(text, arguments=arguments(text))
    ]
    assert sorted(map(str, read)) == sorted(map(str, passed))

"""What the reader of bash sees a script launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parc.reading.bash.script import read_script
from parc.reading.bash.shell import LaunchedCommand
from parc.reading.bash.values import Word
from parc.reading.facts import Unknown


def launches(
    text: str,
    files: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> tuple[LaunchedCommand, ...]:
    texts = {"job.sh": text, **(files or {})}
    script = read_script(
        "job.sh", text, texts=texts, environment=environment or {}, arguments=arguments
    )
    return script.launches


def command(text: str, environment: Mapping[str, str] | None = None) -> tuple[Word, ...]:
    """The words of the last command that a script launches; none when it launches nothing."""
    found = launches(text, environment=environment)
    return found[-1].words if found else ()


def said(words: Sequence[Word]) -> list[str]:
    """The words as text, `?` for what is unknown."""
    return [word.text if not isinstance(word.text, Unknown) else "?" for word in words]

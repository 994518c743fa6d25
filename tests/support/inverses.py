"""What each language reads: the other way round than the writers of `backends/languages`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from parc.reading.bash.source import file_source
from parc.reading.bash.values import plain
from parc.reading.sbatch_options import header


def words_of_bash(lines: Sequence[str]) -> list[str]:
    """The first word behind `say` of each line, as bash itself expands it with no variables set."""
    script = "set -u\nsay() { printf '%s\\0' \"$1\"; }\n" + "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        ["bash", "--norc"], input=script.encode(), capture_output=True, check=True, env={}
    )
    assert not done.stderr, done.stderr
    return done.stdout.decode().split("\0")[:-1]


def directive_values(script: str) -> list[str]:
    """The values of a script's directives, as parc reads them."""
    options = header(file_source("job.sbatch", script))
    return [str(plain(option.value)) for option in options if option.value]

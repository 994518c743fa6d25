"""The path of `--data` -> the form of what lies there, the setting that names it, and its tokens where bytes
tell them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parc.backends.backend import DataForm
from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.settings import token_dtype

from .. import codes

#: Forms of data, in words.
FORMS: dict[DataForm, str] = {
    "flat": "flat files of token ids (`.bin`)",
    "indexed": "tokenised `.bin` files beside their `.idx`",
    "rows": "rows of text (`.jsonl`, `.json`, `.parquet`)",
}
#: Ends of files with rows.
ROWS = (".jsonl", ".json", ".parquet")
#: Entries of a folder that are looked at.
ENTRIES = 10_000


@dataclass(frozen=True)
class TrainingData:
    """`path` is as a target's `data` says it: the prefix of indexed files, the file or folder of others."""

    path: str
    form: DataForm
    bytes: int | None = None

    def tokens(self, vocab: int) -> int | None:
        """Tokens of a flat file, whose ids have 16 bits where the vocabulary allows it; None for others."""
        return (
            None
            if self.bytes is None
            else self.bytes // (2 if token_dtype(vocab) == "uint16" else 4)
        )


def training_data(named: str) -> TrainingData:
    """The data of a path. Raises `JobError` where none is found."""
    # The scripts of a job run in a folder of their own.
    path = Path(named).expanduser().absolute()
    found = list(_found(path))
    flat = [each for each in found if each.form == "flat"]
    if path.is_dir() and flat and len(found) > 1:
        raise _refused(f"`{named}` holds {len(found)} files of tokens", "name one of them")
    if not found:
        message = f"`{named}` holds no data that a target reads"
        if not path.exists():
            message = f"there is no `{named}`"
        raise _refused(message, f"a file or a folder with {', or '.join(FORMS.values())}")
    return found[0]


def _found(path: Path) -> Iterator[TrainingData]:
    """Data at a path: of a folder its token files, else the folder where it holds rows."""
    if not path.is_dir():
        yield from _file(path)
        return
    files = sorted(each for each, _ in zip(path.iterdir(), range(ENTRIES), strict=False))
    tokens = [each for file in files if file.suffix == ".bin" for each in _file(file)]
    yield from tokens
    if not tokens and any(file.suffix in ROWS for file in files):
        yield TrainingData(str(path), "rows")


def _file(path: Path) -> Iterator[TrainingData]:
    prefix = path.with_suffix("") if path.suffix == ".bin" else path
    if Path(f"{prefix}.bin").is_file() and Path(f"{prefix}.idx").is_file():
        yield TrainingData(str(prefix), "indexed")
    elif path.suffix == ".bin" and path.is_file():
        yield TrainingData(str(path), "flat", path.stat().st_size)
    elif path.suffix in ROWS and path.is_file():
        yield TrainingData(str(path), "rows")


def _refused(message: str, help: str) -> JobError:
    return JobError([Diagnostic(codes.NO_DATA, message, help=help)])

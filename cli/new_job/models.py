"""A config.json, a folder with one, or a name of the standard library -> the model that a job begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parc.compiler.model.parameters import total
from parc.dsl.diagnostics import Diagnostic, JobError
from parc.dsl.inputs.files import reason_of, text_of
from parc.dsl.model import Model
from parc.dsl.standard import std_model
from parc.dsl.syntax.naming import block_name
from parc.reading.huggingface.codes import BAD_VALUE, NO_CONFIG
from parc.reading.huggingface.config import Unsaid
from parc.reading.huggingface.config_settings import CONFIG, DescribedModel, read_model


@dataclass(frozen=True)
class ChosenModel:
    """`settings` stand in its block, behind `base` if it has one. `positions` are tokens of the
    longest sequence, None for any; `folder` holds a Hugging Face model, whose `source` is the file
    that was read."""

    name: str
    model: Model
    settings: Mapping[str, int | float | bool | str]
    base: str | None = None
    source: str | None = None
    family: str | None = None
    folder: str | None = None
    positions: int | None = None
    dropout: float = 0.0
    unsaid: tuple[Unsaid, ...] = ()
    assumed: tuple[str, ...] = ()
    described: DescribedModel | None = None

    def parameters(self, seq_len: int) -> int:
        """All of the model, without layers of multi-token prediction."""
        return total(self.model, seq_len=seq_len)


def std_choice(name: str) -> ChosenModel:
    """The model `std.NAME` of the standard library. Raises `JobError` for a name that it lacks."""
    model = std_model(name)
    return ChosenModel(name, model, {}, base=f"std.{name}", positions=model.max_positions)


def hugging_face_choice(named: str, called: str | None = None) -> ChosenModel:
    """The model of a config.json, or of a folder that holds one; `called` is its name where the path does not
    say it. Raises `JobError`."""
    path = Path(named).expanduser()
    folder = path if path.is_dir() else path.parent
    config = path / CONFIG if path.is_dir() else path
    described = read_model(str(config), _text(config))
    try:
        model = described.model
    except ValueError as error:
        raise JobError([_unsound(config, error)]) from None
    return ChosenModel(
        name=block_name(called.lower(), "model") if called else _name(path, folder),
        model=model,
        settings=described.settings,
        source=config.name,
        family=described.family,
        folder=str(folder),
        positions=described.positions,
        dropout=described.dropout,
        unsaid=described.unsaid,
        assumed=described.assumed,
        described=described,
    )


def _text(config: Path) -> str:
    try:
        return text_of(config)
    except (OSError, ValueError) as error:
        message = f"cannot read `{config}`: {reason_of(error)}"
        help = "name a config.json, or a folder that holds one"
        raise JobError([Diagnostic(NO_CONFIG, message, help=help)]) from None


def _name(path: Path, folder: Path) -> str:
    """The name of the file, or of its folder where the file is a config.json."""
    named = path.stem if path.name != CONFIG and not path.is_dir() else folder.resolve().name
    return block_name(named.lower(), "model")


def _unsound(config: Path, error: ValueError) -> Diagnostic:
    lines = str(error).splitlines()
    words = "; ".join(line.strip() for line in lines[1:3]) or lines[0]
    message = f"`{config}` describes no model that can be: {words}"
    return Diagnostic(BAD_VALUE, message, help="take the file from the model's own page")

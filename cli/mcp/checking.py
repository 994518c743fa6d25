"""The arguments of a call -> the model of its tool, or complaints about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from parc.dsl.diagnostics import Diagnostic, JobError, did_you_mean

from .. import codes
from .tools import Arguments, Tool, outside

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


def checked(tool: Tool, arguments: Mapping[str, Any], folder: str) -> Arguments:
    """Raises `JobError` for arguments that the tool does not have or take, and for files outside of the
    folder."""
    try:
        model = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        raise JobError([*_complaints(tool, error.errors(include_url=False))]) from None
    wrong = [
        Diagnostic(
            codes.NOT_SERVED,
            f"{tool.name}: `{name}` is outside of the folder that this server serves",
            help="name a file below it, or give its text",
        )
        for name in outside(model, folder)
    ]
    if wrong:
        raise JobError(wrong)
    return model


def _complaints(tool: Tool, errors: Iterable[ErrorDetails]) -> Iterable[Diagnostic]:
    known = tool.input_schema()["properties"]
    for error in errors:
        where = ".".join(str(part) for part in error["loc"])
        kind, text = error["type"], error["msg"].removeprefix("Value error, ")
        help = None
        if kind == "extra_forbidden":
            text = f"there is no argument `{where}`"
            help = did_you_mean(where, known) or f"there are {', '.join(known)}"
        elif kind == "missing":
            text = f"the argument `{where}` is missing"
            help = known[where].get("description") if where in known else None
        elif where:
            text = f"`{where}`: {text[:1].lower()}{text[1:]}"
        yield Diagnostic(codes.USAGE, f"{tool.name}: {text}", help=help)

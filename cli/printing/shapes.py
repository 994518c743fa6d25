"""The shapes of what commands print as JSON, made of the models that are dumped, for `schemas.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from parc.compiler.plan import (
    Checkpoint,
    Doubt,
    Estimate,
    Goodput,
    Layout,
    Measured,
    Proof,
    Rival,
    Stage,
)
from parc.dsl.expression import VALUES

#: Types of objects are made here while the module loads, which type checkers cannot follow.
_TYPED_DICT: Any = TypedDict
_CLOSED = ConfigDict(extra="forbid")
_Keys = dict[str, Any]


def shape(name: str, keys: Mapping[str, Any], about: str = "") -> Any:
    """An object that has these keys and no other."""
    made = _TYPED_DICT(name, dict(keys))
    made.__doc__ = about or None
    made.__pydantic_config__ = _CLOSED
    return made


def _many(kind: Any) -> Any:
    return GenericAlias(list, (kind,))


def _table(kind: Any) -> Any:
    return GenericAlias(dict, (str, kind))


def _keys(model: type[BaseModel], without: Iterable[str] = ()) -> _Keys:
    """The fields of a model, as its dump has them."""
    return {
        name: field.annotation for name, field in model.model_fields.items() if name not in without
    }


def _optional(keys: Mapping[str, Any]) -> _Keys:
    return {name: NotRequired[kind] for name, kind in keys.items()}


def _dumped(model: type[BaseModel], **other: Any) -> Any:
    """The dump of a model, in which some keys have another kind."""
    return shape(model.__name__, _keys(model) | other)


_Count = Annotated[int, Field(ge=0)]
_Word = str | bool
#: Variables of a layout, those that have words by their word.
_VARIABLES: _Keys = {
    name: Literal[tuple(VALUES[name])] if name in VALUES else _Count for name in Layout.model_fields
}
_LAYOUT = shape("Layout", _VARIABLES, "Every decision; `order` is the schedule of the passes.")
_CHANGED = shape(
    "ChangedLayout",
    _optional(_VARIABLES),
    "A layout without decisions that have their neutral value.",
)
_GOODPUT = _dumped(Goodput)
_MEASURED = _dumped(Measured)
_MEASURED_LAYOUT = shape("MeasuredLayout", _keys(Measured, without=("best",)))
_ESTIMATE: _Keys = {
    **_keys(Estimate, without=("layout", "stages", "checkpoint", "goodput")),
    "layout": _LAYOUT,
    "stages": _many(_dumped(Stage)),
    "checkpoint": _dumped(Checkpoint),
    "goodput": NotRequired[_GOODPUT],
    "memory_bytes": int,
    "out_of_memory": float,
    "mfu_band": tuple[float, float],
    "tokens_per_second_per_gpu": float,
    "gpus": int,
}
_PRICED: _Keys = {
    "layout": _CHANGED,
    "step_seconds": float,
    "mfu": float,
    "memory_bytes": int,
    "out_of_memory": float,
}
_SUMMARY = shape("Summary", _PRICED, "A layout and the main figures of its price.")
_WARNING = shape("Warning", {"code": str, "message": str, "help": str | None})
_PEAK = shape("Peak", {"precision": str, "flops": float}, "What an MFU is a share of, in FLOP/s.")
_JOB = shape("Job", {"name": str, "file": str, "sha256": str, "peak": _PEAK, "goal": list[str]})
_PLAN: _Keys = {
    "target": str,
    **_ESTIMATE,
    "proof": shape(
        "Proof", _keys(Proof, without=("seconds", "ruled_out")) | {"ruled_out": NotRequired[bool]}
    ),
    "best": _SUMMARY | None,
    "freed_bytes": NotRequired[int],
    "doubt": _dumped(Doubt, rivals=_many(_dumped(Rival, layout=_CHANGED))) | None,
    "advice": NotRequired[shape("Advice", {"text": str, "command": str | None})],
    "measured": _MEASURED | None,
    "simulated": NotRequired[
        shape(
            "Simulated",
            {"step_seconds": float, **_optional({"instead": _CHANGED, "instead_seconds": float})},
        )
    ],
    "binding": list[str],
    "runners_up": _many(_SUMMARY),
    "warnings": _many(_WARNING),
    "settings": NotRequired[dict[str, _Word]],
    "other_settings": NotRequired[
        _many(
            shape(
                "OtherSettings",
                {"settings": dict[str, _Word], **_optional(_PRICED), "why": NotRequired[str]},
            )
        )
    ],
    "worthwhile": NotRequired[
        _many(shape("Setting", {"setting": str, "value": _Word, "gain": float, "needs": str}))
    ],
    "fewer": NotRequired[
        shape(
            "FewerNodes", {"nodes": int, "gpus": int, "nvlink_domain": NotRequired[int], **_PRICED}
        )
    ],
    "follows": NotRequired[
        shape("Follows", {"stage": str, "require": list[str], "best": _SUMMARY})
    ],
    "checkpoints": NotRequired[
        shape(
            "Checkpoints",
            {
                "interval_steps": int,
                "interval_seconds": float,
                "written": int,
                "kept": int | None,
                "signal_seconds": float,
                "starts": float | None,
            },
        )
    ],
}
_REFUSED = shape("Refused", {"target": str, "code": str, "message": str})
PLANNED: _Keys = {
    "parc": str,
    "job": _JOB,
    "best": str | None,
    "plans": _many(shape("Plan", _PLAN)),
    "refused": _many(_REFUSED),
}
_SUM = shape("Sum", {"days": float, "cost": float, "energy_joules": float})
STAGED: _Keys = {
    "job": str,
    "stages": _many(shape("Stages", {"stage": str, **PLANNED})),
    "all": _table(_SUM),
}

_PLACE: _Keys = {"path": str | None, "line": int | None, "column": int | None}
_EDIT = shape(
    "Edit",
    {**_PLACE, "end_line": int, "end_column": int, "start": int, "end": int, "text": str},
    "The characters from `start` to `end` of a file's text, replaced.",
)
DIAGNOSTIC = shape(
    "Diagnostic",
    {
        "code": str,
        "severity": Literal["error", "warning", "info"],
        "message": str,
        **_PLACE,
        "help": str | None,
        "notes": _many(shape("Note", {"message": str, **_PLACE})),
        "fix": shape("Fix", {"safe": bool, "edits": _many(_EDIT)}) | None,
    },
)

_TERM = shape("Term", {"term": str, "here": float, "there": float, "change": float})
_DIFFERENCE: _Keys = {
    "layout": _CHANGED,
    "scale": float,
    "decisions": dict[str, tuple[str | int, str | int]],
    "seconds": float,
    "time": _many(_TERM),
    "memory_bytes": int,
    "memory": _many(_TERM),
}
_BEST = shape("Best", {"layout": _CHANGED, "value": float, "memory_bytes": int})
_STEP = shape("Step", {"quantity": str, "limit": float, "gain": float, "best": _BEST})
_BINDING = shape(
    "Binding",
    {"condition": str, "place": str, "gain": float, "best": _BEST, "step": _STEP | None},
)
_ALTERNATIVE = shape(
    "Alternative",
    {
        "decision": str,
        "value": str | int,
        "chosen": bool,
        "worse": float | None,
        "best": _BEST | None,
        "why": str,
    },
)
_THRESHOLD = shape(
    "Threshold",
    {
        "parameter": str,
        "direction": Literal["exposed", "longer", "shorter"],
        "value": float | None,
        "deviations": float | None,
        "farthest": float,
        "layout": _CHANGED | None,
    },
)
_BOTH = shape("PredictedAndMeasured", {"predicted": float, "measured": float})
_RAN = shape(
    "Ran",
    {
        "log": str,
        "target": str,
        "layout": _CHANGED,
        "filled": list[str],
        "step_seconds": _BOTH,
        "mfu": _BOTH,
        "tokens_per_second": _BOTH,
        "parts": _table(_BOTH),
        "reserved_bytes": _BOTH | None,
        "spread": float,
        "reports": int,
        "in_band": bool,
        "time": dict[str, float],
        "measured": _MEASURED_LAYOUT | None,
    },
)
EXPLAINED: _Keys = {
    "job": _JOB,
    **_PLAN,
    "quantity": str,
    "best_under_goal": _BEST,
    "best_without_conditions": _BEST,
    "margin": float,
    "binds": _many(_BINDING),
    "what_if": _many(_ALTERNATIVE),
    "losers": _many(shape("Difference", _DIFFERENCE)),
    "thresholds": _many(_THRESHOLD),
    "cp_comm_step_seconds": dict[str, float | None],
    "against": shape(
        "Against",
        {
            **_DIFFERENCE,
            "breaks": list[str],
            "measured": _MEASURED_LAYOUT | None,
        },
    )
    | None,
    "ran": _RAN | None,
}
ESTIMATES: _Keys = {
    "job": _JOB,
    "estimates": _many(
        shape(
            "EstimateOfTarget",
            {
                "target": str,
                **_ESTIMATE,
                "measured": _MEASURED_LAYOUT | None,
                "warnings": _many(_WARNING),
            },
        )
    ),
    "broken": _many(DIAGNOSTIC),
}
_VALUE = bool | int | float | str
_FACT = shape(
    "Fact",
    {**_optional({"value": _VALUE, "unknown": str}), "line": int, "path": NotRequired[str]},
    "A value, or why it is unknown; `path` where it is not the job's own file.",
)
LINTED: _Keys = {
    "files": _many(
        shape(
            "File",
            {
                "path": str,
                "kind": str,
                "release": NotRequired[str],
                "facts": _table(_FACT),
                "not_judged": _many(
                    shape("NotJudged", {"what": str, "why": str, "facts": list[str]})
                ),
            },
        )
    ),
    "without_launch": _many(shape("WithoutLaunch", {"path": str, "why": str, "help": str})),
    "summary": str,
    "findings": _many(
        shape(
            "Finding",
            {
                "code": str,
                "name": str,
                "severity": Literal["error", "warning", "info"],
                "path": str,
                "line": int,
                "column": int,
                "message": str,
                "help": str | None,
                "related": _many(shape("Related", {"message": str, **_PLACE})),
            },
        )
    ),
}
_LOST = shape("Lost", {"path": str, "line": int | None, "setting": str, "value": str | None})
IMPORTED: _Keys = {
    "job": str,
    "missing": list[str],
    "lost": _many(_LOST),
    "warnings": _many(DIAGNOSTIC),
}
